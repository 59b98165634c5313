#include "sources/elf/elf_file.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

#include "base/units.h"
#include "sources/elf/elf_notes.h"

// Searches an ELF file for notes, symbols by name, and text.

namespace memscope {
namespace {

constexpr std::size_t kSegmentLimit = 1170;  // the kernel executes no file with more
// Linkers write about 40. Only object files with a section for each function have thousands, and no process maps those.
constexpr std::size_t kSectionLimit = 4096;
constexpr std::size_t kSectionNamesLimit = std::size_t{1} << 20;
constexpr std::size_t kSectionNameLimit = 64;

bool is_supported(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_ident[EI_VERSION] == EV_CURRENT;
}

// Converts bytes of a file to an array of headers.
template <class Header>
std::vector<Header> headers_in(const std::string& bytes) {
    std::vector<Header> headers(bytes.size() / sizeof(Header));
    if (!headers.empty()) std::memcpy(headers.data(), bytes.data(), headers.size() * sizeof(Header));
    return headers;
}

}  // namespace

Result<ElfFile> ElfFile::open(const Fd& file) {
    ElfFile elf;
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return system_error(errno, "stat of an ELF file");
    if (!S_ISREG(status.st_mode)) return plain_error("not a regular file");
    elf.size_ = static_cast<std::uint64_t>(status.st_size);
    elf.file_ = Fd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    if (!elf.file_) return system_error(errno, "duplicate the descriptor of an ELF file");

    const auto header = elf.read_as<Elf64_Ehdr>(0);
    if (!header) return plain_error("not an ELF file: too short");
    if (!is_supported(*header)) return plain_error("not a 64-bit little-endian ELF file");
    if (const auto read = elf.read_segments(*header); !read) return read.error();
    elf.read_sections(*header);
    return elf;
}

std::string ElfFile::read(std::uint64_t offset, std::size_t most) const {
    if (offset >= size_) return {};
    std::string bytes(std::min<std::uint64_t>(most, size_ - offset), '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
        const ssize_t n =
            ::pread(file_.get(), bytes.data() + got, bytes.size() - got, static_cast<off_t>(offset + got));
        if (n > 0)
            got += static_cast<std::size_t>(n);
        else if (n == 0 || errno != EINTR)
            break;  // the file has shrunk or cannot be read
    }
    bytes.resize(got);
    return bytes;
}

std::string ElfFile::read(const ElfSection& section, std::uint64_t from, std::size_t most) const {
    if (from >= section.file_size() || !holds(section.offset, section.file_size())) return {};
    return read(section.offset + from, std::min<std::uint64_t>(most, section.file_size() - from));
}

template <class T>
std::optional<T> ElfFile::read_as(std::uint64_t offset) const {
    const std::string bytes = read(offset, sizeof(T));
    if (bytes.size() != sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

Status ElfFile::read_segments(const Elf64_Ehdr& header) {
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kSegmentLimit ||
        !holds(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)))
        return plain_error("the ELF file has no valid program headers");
    const auto headers = headers_in<Elf64_Phdr>(read(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)));
    for (const Elf64_Phdr& segment : headers) {
        if (!holds(segment.p_offset, segment.p_filesz)) continue;
        const ElfSegment kept{.offset = segment.p_offset,
                              .address = segment.p_vaddr,
                              .file_size = segment.p_filesz,
                              .memory_size = segment.p_memsz,
                              .executable = (segment.p_flags & PF_X) != 0};
        if (segment.p_type == PT_LOAD) segments_.push_back(kept);
        if (segment.p_type == PT_NOTE) notes_.push_back(kept);
    }
    return Done{};
}

// A file can be executed without sections, so damaged section headers are not an error. The file then has no sections.
void ElfFile::read_sections(const Elf64_Ehdr& header) {
    if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
    std::uint64_t count = header.e_shnum;
    std::uint64_t names_index = header.e_shstrndx;
    // Values that are too large for these fields are in the first section header.
    if (count == 0 || names_index == SHN_XINDEX) {
        const auto first = read_as<Elf64_Shdr>(header.e_shoff);
        if (!first) return;
        if (count == 0) count = first->sh_size;
        if (names_index == SHN_XINDEX) names_index = first->sh_link;
    }
    if (count > kSectionLimit || !holds(header.e_shoff, count * sizeof(Elf64_Shdr))) return;
    const auto headers = headers_in<Elf64_Shdr>(read(header.e_shoff, count * sizeof(Elf64_Shdr)));
    std::vector<std::uint32_t> names;
    for (const Elf64_Shdr& section : headers) {
        ElfSection kept{.name = {},
                        .address = section.sh_addr,
                        .offset = section.sh_offset,
                        .size = section.sh_size,
                        .type = section.sh_type,
                        .flags = section.sh_flags,
                        .link = section.sh_link};
        // An invalid section stays as an empty entry, because other sections link to it by its index.
        if (!holds(kept.offset, kept.file_size()) || section.sh_type == SHT_NULL) kept = {};
        sections_.push_back(std::move(kept));
        names.push_back(section.sh_name);
    }
    name_sections(names, names_index);
}

void ElfFile::name_sections(const std::vector<std::uint32_t>& names, std::size_t names_index) {
    if (names_index >= sections_.size()) return;
    const std::string text = read(sections_[names_index], 0, kSectionNamesLimit);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
        if (names[i] >= text.size() || sections_[i].type == SHT_NULL) continue;
        // Searches no further than the longest name that is kept, because each section can refer to a long text.
        const std::string_view start = std::string_view(text).substr(names[i], kSectionNameLimit + 1);
        if (const auto end = start.find('\0'); end != std::string_view::npos) sections_[i].name = start.substr(0, end);
    }
}

std::optional<ElfSection> ElfFile::section(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(),
                                    [&](const ElfSection& section) { return section.name == name; });
    return found == sections_.end() || name.empty() ? std::nullopt : std::optional(*found);
}

std::uint64_t ElfFile::load_address() const {
    const auto lowest = std::min_element(segments_.begin(), segments_.end(),
                                         [](const auto& a, const auto& b) { return a.address < b.address; });
    const auto page = page_bytes();
    return lowest == segments_.end() ? 0 : lowest->address & ~(page - 1);
}

std::optional<std::uint64_t> address_in(std::span<const ElfSegment> segments, std::uint64_t offset, bool executable) {
    std::optional<std::uint64_t> other;  // damaged headers may put a byte into two segments
    for (const ElfSegment& segment : segments) {
        if (offset < segment.offset || offset - segment.offset >= segment.file_size) continue;
        const std::uint64_t address = segment.address + (offset - segment.offset);
        if (segment.executable == executable) return address;
        if (!other) other = address;
    }
    return other;
}

std::optional<std::uint64_t> offset_in(std::span<const ElfSegment> segments, std::uint64_t address, bool executable) {
    for (const ElfSegment& segment : segments)
        if (segment.executable == executable && address >= segment.address &&
            address - segment.address < segment.file_size)
            return segment.offset + (address - segment.address);
    return std::nullopt;
}

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGnu = "GNU\0"sv;  // the owner of a note includes the NUL

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kNotesLimit = std::size_t{64} << 10;
constexpr std::size_t kBuildIdLimit = 64;

std::string hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        out += kDigits[static_cast<unsigned char>(c) >> 4U];
        out += kDigits[static_cast<unsigned char>(c) & 0xFU];
    }
    return out;
}

// A damaged note ends the search.
std::optional<std::string> build_id_in(std::string_view notes) {
    std::optional<std::string> id;
    (void)for_each_note(notes, [&](const ElfNote& note) {
        if (note.type == NT_GNU_BUILD_ID && note.owner == kGnu && !note.content.empty() &&
            note.content.size() <= kBuildIdLimit)
            id = hex(note.content);
        return !id;
    });
    return id;
}

// Calls visit(from, text) for a section in chunks. Text that begins in the first kChunk bytes of a chunk is complete in
// it, up to `longest` bytes. Stops when visit returns false.
template <class Visit>
void for_each_chunk(const ElfFile& file, const ElfSection& section, std::size_t longest, Visit visit) {
    const std::uint64_t end = std::min(section.file_size(), ElfFile::kTextLimit);
    for (std::uint64_t from = 0; from < end; from += kChunk) {
        const std::string text = file.read(section, from, std::min<std::uint64_t>(kChunk + longest, end - from));
        if (!visit(from, std::string_view(text)) || text.size() < kChunk) return;
    }
}

// Offset of `needle` at or after `from`; npos: none. string_view::find compares the needle at each byte that equals its
// first byte, which takes seconds for a text that consists of such bytes. memmem() is linear for every text.
std::size_t find_from(std::string_view text, std::string_view needle, std::size_t from) {
    if (from >= text.size()) return std::string_view::npos;
    const void* found = ::memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

// Calls visit(place) for each occurrence of `needle` that begins in the chunk. Returns false as soon as visit does.
template <class Visit>
bool for_each_place(std::string_view chunk, std::string_view needle, Visit visit) {
    for (std::size_t at = find_from(chunk, needle, 0); at < kChunk; at = find_from(chunk, needle, at + 1))
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

// Each table is read once, and each symbol costs one lookup in a hash table, however many names are wanted.
void ElfFile::find_in(std::uint32_t type, std::span<const std::string_view> names,
                      std::vector<std::optional<ElfSymbol>>& found) const {
    const auto table = std::find_if(sections_.begin(), sections_.end(),
                                    [&](const ElfSection& section) { return section.type == type; });
    if (table == sections_.end() || table->link >= sections_.size()) return;
    const ElfSection& strings = sections_[table->link];
    if (table->file_size() > kSearchLimit || strings.file_size() > kSearchLimit) return;

    std::unordered_multimap<std::string_view, std::size_t> wanted;  // index in `names`
    std::size_t longest = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (found[i] || names[i].empty()) continue;
        wanted.emplace(names[i], i);
        longest = std::max(longest, names[i].size());
    }
    if (wanted.empty()) return;
    const std::string text = read(strings, 0, kSearchLimit);
    for_each_symbol(*table, [&](const Elf64_Sym& symbol) {
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text.size()) return true;
        const std::string_view start = std::string_view(text).substr(symbol.st_name, longest + 1);
        const auto end = start.find('\0');
        if (end == std::string_view::npos) return true;  // longer than every wanted name, or not terminated
        const auto [first, last] = wanted.equal_range(start.substr(0, end));
        for (auto match = first; match != last; ++match) found[match->second] = {symbol.st_value, symbol.st_size};
        wanted.erase(first, last);  // of several symbols with one name, the first symbol counts
        return !wanted.empty();
    });
}

std::vector<std::optional<ElfSymbol>> ElfFile::find_symbols(std::span<const std::string_view> names) const {
    std::vector<std::optional<ElfSymbol>> found(names.size());
    for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) find_in(type, names, found);
    return found;
}

std::vector<std::optional<ElfSymbol>> ElfFile::find_exports(std::span<const std::string_view> names) const {
    std::vector<std::optional<ElfSymbol>> found(names.size());
    find_in(SHT_DYNSYM, names, found);
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
