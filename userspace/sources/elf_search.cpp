// What is looked for inside an ELF file: notes, symbols by name, text.
#include <algorithm>
#include <cstring>

#include "sources/elf_file.h"

namespace memscope {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGnu = "GNU\0"sv;  // a note's name counts its end

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kNotesLimit = std::size_t{64} << 10;
constexpr std::size_t kBuildIdLimit = 64;
// A linker writes a name once, and once more at the end of each longer name that it does not merge.
constexpr std::size_t kPlacesLimit = 4096;

std::string hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        out += kDigits[static_cast<unsigned char>(c) >> 4U];
        out += kDigits[static_cast<unsigned char>(c) & 0xFU];
    }
    return out;
}

std::optional<std::string> build_id_in(std::string_view notes) {
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    Elf64_Nhdr note{};
    while (notes.size() >= sizeof note) {
        std::memcpy(&note, notes.data(), sizeof note);
        notes.remove_prefix(sizeof note);
        const std::uint64_t name_size = padded(note.n_namesz), value_size = padded(note.n_descsz);
        if (name_size > notes.size() || note.n_descsz > notes.size() - name_size) return std::nullopt;
        const std::string_view name = notes.substr(0, note.n_namesz), value = notes.substr(name_size, note.n_descsz);
        if (note.n_type == NT_GNU_BUILD_ID && name == kGnu && !value.empty() && value.size() <= kBuildIdLimit)
            return hex(value);
        notes.remove_prefix(std::min<std::uint64_t>(name_size + value_size, notes.size()));
    }
    return std::nullopt;
}

// Calls visit(from, text) for a section chunk by chunk: what begins in the first kChunk bytes of the text stands whole
// in it, up to `longest` bytes. Ends when visit returns false.
template <class Visit>
void for_each_chunk(const ElfFile& file, const ElfSection& section, std::size_t longest, Visit visit) {
    const std::uint64_t end = std::min(section.file_size(), ElfFile::kTableLimit);
    for (std::uint64_t from = 0; from < end; from += kChunk) {
        const std::string text = file.read(section, from, std::min<std::uint64_t>(kChunk + longest, end - from));
        if (!visit(from, std::string_view(text)) || text.size() < kChunk) return;
    }
}

// Calls visit(place) for each place in a chunk where `needle` begins, until it returns false; then false itself.
template <class Visit>
bool for_each_place(std::string_view chunk, std::string_view needle, Visit visit) {
    for (std::size_t at = chunk.find(needle); at < kChunk; at = chunk.find(needle, at + 1))
        if (!visit(at)) return false;
    return true;
}

}  // namespace

std::optional<std::string> ElfFile::build_id() const {
    for (const ElfSegment& notes : notes_)
        if (auto id = build_id_in(read(notes.offset, std::min<std::uint64_t>(notes.file_size, kNotesLimit)))) return id;
    const auto notes = section(".note.gnu.build-id");
    return notes ? build_id_in(read(*notes, 0, kNotesLimit)) : std::nullopt;
}

bool ElfFile::for_each_symbol(const ElfSection& table, const std::function<bool(const Elf64_Sym&)>& visit) const {
    constexpr std::size_t kPiece = kChunk / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    if (table.file_size() > kTableLimit) return false;
    for (std::uint64_t from = 0; from + sizeof(Elf64_Sym) <= table.file_size(); from += kPiece) {
        const std::string bytes = read(table, from, kPiece);
        if (bytes.size() < std::min<std::uint64_t>(kPiece, table.file_size() - from)) return false;
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size(); at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            std::memcpy(&symbol, bytes.data() + at, sizeof symbol);
            if (!visit(symbol)) return true;
        }
    }
    return true;
}

// Looks for the names first and for the symbols that have them then: neither table has to be held.
void ElfFile::find_in(const ElfSection& table, std::span<const std::string_view> names,
                      std::vector<std::optional<ElfSymbol>>& found) const {
    if (table.link >= sections_.size()) return;
    struct Place {
        std::uint64_t at;
        std::size_t name;
    };
    std::vector<Place> places;
    std::vector<std::string> ended;
    std::size_t longest = 0;
    for (const std::string_view name : names) {
        ended.push_back(std::string(name) + '\0');
        longest = std::max(longest, ended.back().size());
    }
    for_each_chunk(*this, sections_[table.link], longest, [&](std::uint64_t from, std::string_view chunk) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (found[i] || names[i].empty()) continue;
            // The end of a longer name can serve as a name too, so what stands before it does not matter.
            for_each_place(chunk, ended[i], [&](std::size_t at) {
                places.push_back({from + at, i});
                return places.size() < kPlacesLimit;
            });
        }
        return places.size() < kPlacesLimit;
    });
    if (places.empty()) return;
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.at < b.at; });
    for_each_symbol(table, [&](const Elf64_Sym& symbol) {
        if (symbol.st_shndx == SHN_UNDEF) return true;
        const auto place = std::lower_bound(places.begin(), places.end(), symbol.st_name,
                                            [](const Place& p, std::uint64_t at) { return p.at < at; });
        // Equal names asked for twice have equal places: each gets its answer.
        for (auto same = place; same != places.end() && same->at == symbol.st_name; ++same)
            if (!found[same->name]) found[same->name] = {symbol.st_value, symbol.st_size};
        return true;
    });
}

std::vector<std::optional<ElfSymbol>> ElfFile::find_symbols(std::span<const std::string_view> names) const {
    std::vector<std::optional<ElfSymbol>> found(names.size());
    for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
        const auto table = std::find_if(sections_.begin(), sections_.end(),
                                        [&](const ElfSection& section) { return section.type == type; });
        if (table != sections_.end()) find_in(*table, names, found);
    }
    return found;
}

std::optional<ElfSymbol> ElfFile::find_symbol(std::string_view name) const { return find_symbols({&name, 1}).front(); }

void ElfFile::for_each_text(const ElfSection& section, std::string_view marker, std::size_t most,
                            const std::function<bool(std::string_view)>& visit) const {
    constexpr std::size_t kMost = 4096;
    if (marker.empty()) return;
    most = std::min(most, kMost);
    const std::size_t longest = std::max(most, marker.size());
    for_each_chunk(*this, section, longest, [&](std::uint64_t, std::string_view chunk) {
        return for_each_place(chunk, marker, [&](std::size_t at) {
            const std::string_view rest = chunk.substr(at, most);
            return visit(rest.substr(0, rest.find('\0')));
        });
    });
}

std::optional<std::string> ElfFile::find_text(const ElfSection& section, std::string_view marker,
                                              std::size_t most) const {
    std::optional<std::string> text;
    for_each_text(section, marker, most, [&](std::string_view found) {
        text = std::string(found);
        return false;
    });
    return text;
}

}  // namespace memscope
