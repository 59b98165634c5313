#include "sources/elf/native_reads.h"

#include "sources/elf/elf_file.h"

namespace memscope {
namespace {

bool may_be_there(const Error& error) { return error.code.value() == EAGAIN || error.code.value() == EINVAL; }

// True if the page contains these bytes, which are given as hex digits.
bool holds(const std::string& page, const std::string& digits) {
    const auto value = [&](std::size_t i) {
        return static_cast<unsigned>(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) bytes += static_cast<char>(value(i) * 16 + value(i + 1));
    return page.find(bytes) != std::string::npos;
}

// Finds a file that was not found yet or whose handle was closed: first below the root directory that find_module() has
// stored, then below the root directory of `wanted.pid`, then below ours.
Fd look_up(const SysRoot& root, const ModuleWanted& wanted) {
    const auto below = [&](const Fd& directory, const std::string& shown_as) -> Fd {
        auto found = find_below(directory, shown_as, wanted.path, Lookup::may_wait);
        const auto identity = found ? identity_of(*found) : std::nullopt;
        return identity && identity->inode == wanted.inode ? std::move(*found) : Fd();
    };
    if (wanted.place.root)
        if (Fd found = below(wanted.place.root, wanted.place.root_shown_as)) return found;
    for (const std::string& process : {std::to_string(wanted.pid), std::string("self")})
        if (const auto its_root = root_of(root, process))
            if (Fd found = below(its_root->directory, its_root->shown_as)) return found;
    return {};
}

// As long as a mapping or a handle exists, the inode number is not reused, so inode and device identify the file. A
// file that is looked up later must be unchanged in all attributes.
bool is_mapped_file(const ModuleWanted& wanted, const FileIdentity& found, const ElfFile& file) {
    const bool has_handle = static_cast<bool>(wanted.place.handle);
    if (wanted.loaded && !has_handle) return found == *wanted.loaded;
    if (!has_handle && wanted.identity && found != *wanted.identity) return false;
    if (found.inode != wanted.inode) return false;
    if (wanted.has_device_of(found)) return true;
    const auto build_id = file.build_id();
    const std::string& page = wanted.place.first_page;
    return build_id && holds(page, *build_id) && file.read(0, page.size()) == page;
}

}  // namespace

ModulePlace find_module(const SysRoot& root, pid_t pid, const MappedRange& mapped, std::uint64_t headers) {
    ModulePlace undecided;  // set if only a lookup that may block can find the file
    // A file that the process mapped before it called chroot is below our root, if we can see it at all.
    for (const std::string& process : {std::to_string(pid), std::string("self")}) {
        auto its_root = root_of(root, process);
        if (!its_root) continue;
        auto found = find_below(*its_root, mapped.path, Lookup::in_memory_only);
        if (!found && may_be_there(found.error()) && !undecided.root) {
            undecided.root = std::move(its_root->directory);
            undecided.root_shown_as = its_root->shown_as;
        }
        const auto identity = found ? identity_of(*found) : std::nullopt;
        if (!identity || identity->inode != mapped.inode) continue;
        ModulePlace place{.handle = std::move(*found), .identity = identity};
        if (mapped.dev_major != identity->dev_major || mapped.dev_minor != identity->dev_minor) {
            if (headers != 0) place.first_page = read_page(pid, headers);
            if (place.first_page.empty()) continue;
        }
        return place;
    }
    if (undecided.root && headers != 0) undecided.first_page = read_page(pid, headers);
    return undecided;
}

Result<LoadedModule> load_module(const SysRoot& root, const ModuleWanted& wanted) {
    const Fd looked_up = wanted.place.handle ? Fd() : look_up(root, wanted);
    const Fd& handle = wanted.place.handle ? wanted.place.handle : looked_up;
    const auto identity = identity_of(handle);
    if (!identity) return plain_error("find " + wanted.path);
    const auto opened = open_found(handle);
    if (!opened) return opened.error();
    const auto file = ElfFile::open(*opened);
    if (!file) return file.error();
    if (!is_mapped_file(wanted, *identity, *file)) return plain_error(wanted.path + " is not the mapped file any more");
    auto table = SymbolTable::load(*file);
    if (!table) return table.error();
    const auto segments = file->segments();
    return LoadedModule{
        .identity = *identity,
        .symbols = {
            .segments = {segments.begin(), segments.end()}, .table = std::move(*table), .build_id = file->build_id()}};
}

}  // namespace memscope
