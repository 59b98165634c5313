#include "sources/gpu/mapped_library.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <tuple>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kMostFiles = 8;  // limit for one process

bool is_named(std::string_view path, std::string_view name) {
    return path.substr(path.rfind('/') + 1).starts_with(name);
}

// Tries the path below the root of the process, then below ours (for files mapped before a chroot), then by address in
// map_files, which needs more privileges.
Result<Fd> find_file(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    Error last = plain_error("find " + mapping.path);
    for (const std::string& process : {std::to_string(pid), std::string("self")}) {
        if (mapping.deleted) break;
        const auto its_root = root_of(root, process);
        if (!its_root) continue;
        auto found = find_below(*its_root, mapping.path, Lookup::may_wait);
        const auto identity = found ? identity_of(*found) : std::nullopt;
        if (identity && identity->inode == mapping.inode) return found;
        if (!found) last = found.error();
    }
    const fs::path by_address =
        root.proc / std::to_string(pid) / fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end);
    const int fd = ::open(by_address.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return last;
    return Fd(fd);
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
    const auto found = find_file(root, pid, mapping);
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
