#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"

namespace memscope {

// Which file, and in which state: another one that gets its path, or its inode when it is gone, is not equal.
struct FileIdentity {
    unsigned dev_major = 0;
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    auto operator<=>(const FileIdentity&) const = default;
};

// Regular files only. Asks the kernel's own copy, never the server of a network file system.
std::optional<FileIdentity> identity_of(const Fd& file);

// Paths in /proc/PID/maps do not begin at the root of the process where it is behind chroot, nor where we are: they
// begin where the name does that /proc shows us of that root. What is not below it stays as it is.
std::string path_below(std::string_view root, const std::string& mapped_path);

struct ProcessRoot {
    Fd directory{};  // a handle that asks no file system either
    std::string shown_as{};
};
Result<ProcessRoot> root_of(const SysRoot& root, const std::string& process);  // a pid, or "self"

enum class Lookup {
    in_memory_only,  // fails with EAGAIN (or EINVAL, before 5.12) rather than ask a file system, which may hang
    may_wait,
};
// Finds a mapped file as a process with that root does: absolute links and ".." stay below it. The descriptor is a
// handle (O_PATH): nothing has been opened, so a FIFO or a device that lies there does not notice.
Result<Fd> find_below(const Fd& root, std::string_view root_shown_as, const std::string& mapped_path, Lookup lookup);
inline Result<Fd> find_below(const ProcessRoot& root, const std::string& mapped_path, Lookup lookup) {
    return find_below(root.directory, root.shown_as, mapped_path, lookup);
}
// For reading what identity_of() has found to be a regular file.
Result<Fd> open_found(const Fd& found);

// At most a page, from `address` on, of the memory of a process; empty if it cannot be read.
std::string read_page(pid_t pid, std::uint64_t address);

}  // namespace memscope
