#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Identifies a file and its state. A new file with the same path or a reused inode number compares unequal.
struct FileIdentity {
    unsigned dev_major = 0;
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    auto operator<=>(const FileIdentity&) const = default;
};

// For regular files only. Reads the attributes that the kernel has cached and never contacts a network file server.
std::optional<FileIdentity> identity_of(const Fd& file);

// For a process in a chroot, the paths in /proc/PID/maps begin neither at its root nor at ours: they begin with the
// name that /proc/PID/root shows for its root. Removes that prefix. Returns a path without the prefix unchanged.
std::string path_below(std::string_view root, const std::string& mapped_path);

struct ProcessRoot {
    Fd directory{};  // an O_PATH handle: opening it contacts no file system
    std::string shown_as{};
};
Result<ProcessRoot> root_of(const SysRoot& root, const std::string& process);  // a pid, or "self"

enum class Lookup {
    in_memory_only,  // fails with EAGAIN (EINVAL before 5.12) instead of contacting a file system, which may hang
    may_wait,
};
// Finds a mapped file as a process with that root does: absolute links and ".." stay below the root. The descriptor is
// an O_PATH handle: the file is not opened, so a FIFO or device at that path has no side effects.
Result<Fd> find_below(const Fd& root, std::string_view root_shown_as, const std::string& mapped_path, Lookup lookup);
inline Result<Fd> find_below(const ProcessRoot& root, const std::string& mapped_path, Lookup lookup) {
    return find_below(root.directory, root.shown_as, mapped_path, lookup);
}

enum class InodeCheck {
    always,
    // Accepts a file below the root of the process with another inode number. A stacked file system can show other
    // inode numbers in maps than in stat.
    not_below_root_of_process,
};
// Finds the file of a mapping, as an O_PATH handle: below the root of the process, then below ours (for files mapped
// before a chroot), then by address in map_files, which needs more privileges. Only regular files are found by path.
Result<Fd> find_mapped_file(const SysRoot& root, pid_t pid, const MappedRange& mapping, InodeCheck check);

// Opens the file for reading. Call it only for what identity_of() has found to be a regular file.
Result<Fd> open_found(const Fd& found);

// Reads at most one page of the memory of a process from `address` on. Empty if it cannot be read.
std::string read_page(pid_t pid, std::uint64_t address);

}  // namespace memscope
