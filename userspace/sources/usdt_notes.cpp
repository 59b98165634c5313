#include "sources/usdt_notes.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "sources/mapped_library.h"

namespace memscope {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSection = ".note.stapsdt";
constexpr std::string_view kBaseSection = ".stapsdt.base";
constexpr std::string_view kOwner = "stapsdt\0"sv;  // a note's name counts its end
constexpr std::uint32_t kProbeNote = 3;
constexpr std::size_t kNotesLimit = std::size_t{1} << 20;  // libraries with hundreds of probes have some 30 KiB
constexpr std::size_t kProbesLimit = 4096;

struct Addresses {
    std::uint64_t place = 0;
    std::uint64_t base = 0;
    std::uint64_t semaphore = 0;
};
static_assert(sizeof(Addresses) == 24);

Error damaged() { return plain_error("the notes of its own probes are damaged"); }

// Up to the next NUL, which goes as well; none: there is no NUL.
std::optional<std::string_view> take_text(std::string_view& rest) {
    const auto end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return text;
}

// Places are counted in the file as it was linked; where something has moved it since, the address of a section that
// every such file has says by how much.
std::uint64_t moved_by(const ElfFile& file, std::uint64_t base) {
    const auto section = file.section(kBaseSection);
    return section && base != 0 ? section->address - base : 0;
}

Status read_note(const ElfFile& file, std::string_view content, std::string_view provider,
                 std::vector<UsdtProbe>& probes) {
    Addresses at;
    if (content.size() < sizeof at) return damaged();
    std::memcpy(&at, content.data(), sizeof at);
    content.remove_prefix(sizeof at);
    const auto its_provider = take_text(content);
    const auto name = take_text(content);
    const auto arguments = take_text(content);
    if (!its_provider || !name || !arguments) return damaged();
    if (*its_provider != provider) return Done{};
    if (probes.size() >= kProbesLimit) return plain_error("it has too many probes of its own");
    const std::uint64_t moved = moved_by(file, at.base);
    const auto place = offset_in(file.segments(), at.place + moved, true);
    const auto semaphore =
        at.semaphore == 0 ? std::optional<std::uint64_t>(0) : offset_in(file.segments(), at.semaphore + moved, false);
    if (!place || !semaphore) return damaged();
    probes.push_back(
        {.name = std::string(*name), .arguments = std::string(*arguments), .offset = *place, .semaphore = *semaphore});
    return Done{};
}

Status read_notes(const ElfFile& file, std::string_view notes, std::string_view provider,
                  std::vector<UsdtProbe>& probes) {
    const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    while (!notes.empty()) {
        Elf64_Nhdr note{};
        if (notes.size() < sizeof note) return damaged();
        std::memcpy(&note, notes.data(), sizeof note);
        notes.remove_prefix(sizeof note);
        const std::uint64_t name_size = padded(note.n_namesz);
        if (name_size > notes.size() || note.n_descsz > notes.size() - name_size) return damaged();
        if (note.n_type == kProbeNote && notes.substr(0, note.n_namesz) == kOwner)
            if (auto read = read_note(file, notes.substr(name_size, note.n_descsz), provider, probes); !read)
                return read;
        notes.remove_prefix(std::min<std::uint64_t>(name_size + padded(note.n_descsz), notes.size()));
    }
    return Done{};
}

}  // namespace

Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfFile& file, std::string_view provider) {
    std::vector<UsdtProbe> probes;
    for (const ElfSection& section : file.sections()) {
        if (section.name != kSection) continue;
        if (section.file_size() > kNotesLimit) return plain_error("the notes of its own probes are too long");
        const std::string notes = file.read(section, 0, kNotesLimit);
        if (notes.size() != section.file_size()) return damaged();  // it is being written
        if (auto read = read_notes(file, notes, provider, probes); !read) return read.error();
    }
    return probes;
}

}  // namespace memscope
