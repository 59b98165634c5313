#include "sources/proc/shm.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

namespace memscope {
namespace {

constexpr std::size_t kNamespaceLimit = 64;
constexpr std::size_t kMostBytes = 4 * kMountinfoLimit;  // of all lists of mounts that one call reads

bool is_local(const Mount& mount) {
    constexpr std::string_view kLocal[] = {"tmpfs", "devtmpfs", "ramfs", "rootfs",   "overlay", "ext2", "ext3",
                                           "ext4",  "xfs",      "btrfs", "bcachefs", "f2fs",    "zfs",  "squashfs",
                                           "erofs", "iso9660",  "jfs",   "reiserfs", "aufs",    "vfat"};
    return std::find(std::begin(kLocal), std::end(kLocal), mount.type) != std::end(kLocal);
}

// A mount that covers another mount has the covered mount as its parent. The order of the lines does not show which
// mount covers which, because a mount can be moved or put beneath another.
const Mount* topmost_at(const std::vector<Mount>& mounts, std::string_view point, const Mount* around) {
    const Mount* top = around;
    for (std::size_t i = 0; i < mounts.size(); ++i) {  // bounded: ids that change during the read could form a cycle
        const Mount* next = mount_with(mounts, point, top->id);
        if (!next) return top;
        top = next;
    }
    return nullptr;
}

// The mount that is the root of the process: the lowest mount on "/", because a path lookup starts in it and ignores
// mounts stacked on top of it.
const Mount* process_root(const std::vector<Mount>& mounts) {
    const Mount* root = nullptr;
    for (const Mount& mount : mounts) {
        if (mount.point != "/") continue;
        const bool stacked = std::any_of(mounts.begin(), mounts.end(), [&](const Mount& other) {
            return other.point == "/" && other.id == mount.parent && other.id != mount.id;
        });
        if (stacked) continue;
        if (root) return nullptr;  // two of them: the mounts changed during the read
        root = &mount;
    }
    return root;
}

long open_beneath(const Fd& root, std::uint64_t resolve) {
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = resolve;
    return ::syscall(SYS_openat2, root.get(), "dev/shm", &how, sizeof how);
}

Fd open_shm(const Fd& root) {
    constexpr std::uint64_t kNoLinks = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    // RESOLVE_CACHED never contacts a file system, so even a mount that was added after mountinfo was read cannot block
    // us. Mount points and directories of a tmpfs are always cached. A concurrent mount elsewhere makes it fail with
    // EAGAIN.
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
        if (const long fd = open_beneath(root, kNoLinks | RESOLVE_CACHED); fd >= 0) return Fd(static_cast<int>(fd));
        if (errno == EINVAL) return Fd(static_cast<int>(open_beneath(root, kNoLinks)));  // kernels before 5.12
        if (errno != EAGAIN) return {};
    }
    return {};
}

// Uses attributes that the kernel has cached. False if another file system was mounted there since the check.
bool lies_on(const Fd& directory, const std::string& device) {
    struct statx status{};
    if (::statx(directory.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
    return std::to_string(status.stx_dev_major) + ":" + std::to_string(status.stx_dev_minor) == device;
}

std::optional<ShmUsage> read_shm(const SysRoot& root, pid_t pid, const MountList& list) {
    const auto device = safe_shm_device(list.mounts);
    if (!device) return std::nullopt;

    const fs::path process = root.proc / std::to_string(pid);
    const Fd process_root(::open((process / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!process_root) return std::nullopt;
    // Closed before this function returns, because an open descriptor would block an unmount.
    const Fd shm = open_shm(process_root);
    if (!shm || !lies_on(shm, *device)) return std::nullopt;
    struct statfs status{};
    if (::fstatfs(shm.get(), &status) != 0 || status.f_type != TMPFS_MAGIC) return std::nullopt;
    return shm_usage(status.f_blocks, status.f_bfree, static_cast<std::uint64_t>(status.f_bsize));
}

}  // namespace

std::optional<std::string> safe_shm_device(const std::vector<Mount>& mounts) {
    const Mount* root = process_root(mounts);
    if (!root || !is_local(*root)) return std::nullopt;
    const Mount* dev = topmost_at(mounts, "/dev", root);
    if (!dev || !is_local(*dev)) return std::nullopt;
    const Mount* shm = topmost_at(mounts, "/dev/shm", dev);
    // devtmpfs is a tmpfs, too. If /dev/shm is a directory in it, its usage is reported as well, although its size was
    // not chosen for shared memory.
    if (!shm || (shm->type != "tmpfs" && shm->type != "devtmpfs")) return std::nullopt;
    return shm->device;
}

std::optional<ShmUsage> shm_usage(std::uint64_t blocks, std::uint64_t free_blocks, std::uint64_t block_size) {
    if (blocks == 0 || block_size == 0) return std::nullopt;
    const Bytes size{blocks * block_size};
    return ShmUsage{.used = size - Bytes{free_blocks * block_size}, .size = size};
}

bool is_fuller(const ShmUsage& a, const ShmUsage& b) {
    const auto share = [](const ShmUsage& shm) {
        return static_cast<double>(shm.used.n) / static_cast<double>(shm.size.n);
    };
    return share(a) > share(b);
}

std::vector<std::pair<std::uint64_t, pid_t>> mount_namespaces(const std::vector<Process>& processes) {
    std::map<std::uint64_t, pid_t> namespaces;
    for (const Process& process : processes)
        if (process.task.mount_namespace != 0)
            namespaces.try_emplace(process.task.mount_namespace, process.task.id.pid);
    return {namespaces.begin(), namespaces.end()};
}

Result<std::optional<ShmUsage>> fullest_shm(const SysRoot& root,
                                            const std::vector<std::pair<std::uint64_t, pid_t>>& namespaces) {
    std::optional<ShmUsage> fullest;
    std::set<std::uint64_t> answered;
    std::size_t asked = 0, bytes = 0;
    bool truncated = false;
    for (const auto& [inode, pid] : namespaces) {
        if (answered.count(inode) > 0) continue;
        if (++asked > kNamespaceLimit || bytes >= kMostBytes) break;
        const auto list = read_mountinfo(root, std::to_string(pid));
        if (list) bytes += list->bytes;
        truncated = truncated || (list && list->truncated);
        // A truncated list cannot be used, because a mount that is missing in the list may cover a mount that is in it.
        const auto usage = list && !list->truncated ? read_shm(root, pid, *list) : std::nullopt;
        if (!usage) continue;  // the process may have exited; another process of the same namespace may still work
        answered.insert(inode);
        if (!fullest || is_fuller(*usage, *fullest)) fullest = usage;
    }
    if (!fullest && truncated) return plain_error("cannot find /dev/shm: a list of mounts is too long");
    return fullest;
}

}  // namespace memscope
