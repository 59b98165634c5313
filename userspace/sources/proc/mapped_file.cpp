#include "sources/proc/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <span>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sources/proc/process_memory.h"

namespace memscope {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

std::optional<FileIdentity> identity_of(const Fd& file) {
    struct statx status{};
    if (::statx(file.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) != 0)
        return std::nullopt;
    if (!S_ISREG(status.stx_mode)) return std::nullopt;
    return FileIdentity{.dev_major = status.stx_dev_major,
                        .dev_minor = status.stx_dev_minor,
                        .inode = status.stx_ino,
                        .size = status.stx_size,
                        .modified_ns = status.stx_mtime.tv_sec * kNsPerSecond + status.stx_mtime.tv_nsec,
                        .changed_ns = status.stx_ctime.tv_sec * kNsPerSecond + status.stx_ctime.tv_nsec};
}

std::string path_below(std::string_view root, const std::string& mapped_path) {
    while (root.ends_with('/')) root.remove_suffix(1);
    const bool is_below =
        mapped_path.starts_with(root) && mapped_path.size() > root.size() && mapped_path[root.size()] == '/';
    return is_below ? mapped_path.substr(root.size()) : mapped_path;
}

Result<ProcessRoot> root_of(const SysRoot& root, const std::string& process) {
    const fs::path path = root.proc / process / "root";
    const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return system_error(errno, "open " + path.native());
    std::error_code unknown;
    return ProcessRoot{.directory = Fd(fd), .shown_as = fs::read_symlink(path, unknown)};
}

Result<Fd> find_below(const Fd& root, std::string_view root_shown_as, const std::string& mapped_path, Lookup lookup) {
    const std::string path = path_below(root_shown_as, mapped_path);
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    if (lookup == Lookup::in_memory_only) how.resolve |= RESOLVE_CACHED;
    const long fd = ::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how);
    if (fd < 0) return system_error(errno, "find " + path);
    return Fd(static_cast<int>(fd));
}

Result<Fd> find_mapped_file(const SysRoot& root, pid_t pid, const MappedRange& mapping, InodeCheck check) {
    Error last = plain_error("find " + mapping.path);
    const std::string its_pid = std::to_string(pid);
    for (const std::string& process : {its_pid, std::string("self")}) {
        if (mapping.deleted) break;
        const auto its_root = root_of(root, process);
        if (!its_root) continue;
        auto found = find_below(*its_root, mapping.path, Lookup::may_wait);
        const auto identity = found ? identity_of(*found) : std::nullopt;
        const bool any_inode = check == InodeCheck::not_below_root_of_process && process == its_pid;
        if (identity && (any_inode || identity->inode == mapping.inode)) return found;
        if (!found) last = found.error();
    }
    const fs::path by_address = root.proc / its_pid / fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end);
    const int fd = ::open(by_address.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return last;
    return Fd(fd);
}

Result<Fd> open_found(const Fd& found) {
    const fs::path path = SysRoot{}.proc / "self/fd" / std::to_string(found.get());
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return system_error(errno, "open a mapped file");
    return Fd(fd);
}

std::string read_page(pid_t pid, std::uint64_t address) {
    constexpr std::size_t kPageBytes = 4096;
    std::string page(kPageBytes, '\0');
    const auto got = read_process_memory(pid, address, std::as_writable_bytes(std::span(page)));
    page.resize(got ? *got : 0);
    return page;
}

}  // namespace memscope
