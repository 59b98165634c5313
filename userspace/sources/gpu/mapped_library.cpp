#include "sources/gpu/mapped_library.h"

#include <set>
#include <tuple>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kMostFiles = 8;  // limit for one process

bool is_named(std::string_view path, std::string_view name) {
    return path.substr(path.rfind('/') + 1).starts_with(name);
}

}  // namespace

std::vector<MappedRange> mappings_named(std::string_view maps, std::string_view name) {
    std::string lines;  // a process can have thousands of mappings, so only the relevant lines are parsed
    for_each_line(maps, [&](std::string_view line) {
        if (line.find(name) != std::string_view::npos) lines.append(line) += '\n';
    });
    std::vector<MappedRange> found;
    std::set<std::tuple<unsigned, unsigned, std::uint64_t>> seen;
    for (const MappedRange& range : parse_process_maps(lines).ranges) {
        if (range.inode == 0 || !range.executable || !is_named(range.path, name)) continue;
        if (!seen.insert({range.dev_major, range.dev_minor, range.inode}).second) continue;
        found.push_back(range);
        if (found.size() == kMostFiles) break;
    }
    return found;
}

Result<MappedLibrary> open_mapped_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    const auto found = find_mapped_file(root, pid, mapping, InodeCheck::always);
    if (!found) return found.error();
    const auto identity = identity_of(*found);
    if (!identity) return plain_error(mapping.path + " is not a regular file");
    auto file = open_found(*found);
    if (!file) return file.error();
    auto elf = ElfFile::open(*file);
    if (!elf) return elf.error();
    return MappedLibrary{.file = std::move(*file), .identity = *identity, .elf = std::move(*elf)};
}

}  // namespace memscope
