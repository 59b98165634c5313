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

bool is_local(const Mount& mount) {
    constexpr std::string_view kLocal[] = {"tmpfs", "devtmpfs", "ramfs", "rootfs",   "overlay", "ext2", "ext3",
                                           "ext4",  "xfs",      "btrfs", "bcachefs", "f2fs",    "zfs",  "squashfs",
                                           "erofs", "iso9660",  "jfs",   "reiserfs", "aufs",    "vfat"};
    return std::find(std::begin(kLocal), std::end(kLocal), mount.type) != std::end(kLocal);
}

// Mounts stack: one on the same point has the one below as its parent. Order in the file proves nothing, a mount can
// be moved or put beneath another.
const Mount* topmost_at(const std::vector<Mount>& mounts, std::string_view point, const Mount* around) {
    const Mount* top = around;
    for (std::size_t i = 0; i < mounts.size(); ++i) {  // a bound: ids read while they change could form a ring
        const Mount* next = mount_with(mounts, point, top->id);
        if (!next) return top;
        top = next;
    }
    return nullptr;
}

// The mount the process has for its root: the lowest on "/", because a lookup starts in it and not on top of it.
const Mount* process_root(const std::vector<Mount>& mounts) {
    const Mount* root = nullptr;
    for (const Mount& mount : mounts) {
        if (mount.point != "/") continue;
        const bool stacked = std::any_of(mounts.begin(), mounts.end(), [&](const Mount& other) {
            return other.point == "/" && other.id == mount.parent && other.id != mount.id;
        });
        if (stacked) continue;
        if (root) return nullptr;  // two of them: not a picture of one moment
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
    // RESOLVE_CACHED never asks a file system, so even a mount that was swapped in since mountinfo was read cannot
    // hang us. Mount points and directories of a tmpfs are always cached; a mount going on elsewhere means EAGAIN.
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i) {
        if (const long fd = open_beneath(root, kNoLinks | RESOLVE_CACHED); fd >= 0) return Fd(static_cast<int>(fd));
        if (errno == EINVAL) return Fd(static_cast<int>(open_beneath(root, kNoLinks)));  // kernels before 5.12
        if (errno != EAGAIN) return {};
    }
    return {};
}

// Asks the kernel's own copy only: it is the file system we checked, or one that was put there since.
bool lies_on(const Fd& directory, const std::string& device) {
    struct statx status{};
    if (::statx(directory.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
    return std::to_string(status.stx_dev_major) + ":" + std::to_string(status.stx_dev_minor) == device;
}

std::optional<ShmUsage> read_shm(const SysRoot& root, pid_t pid) {
    const fs::path process = root.proc / std::to_string(pid);
    const auto text = read_file(process / "mountinfo");
    if (!text || text->size() == kFileLimit) return std::nullopt;  // half of it proves nothing
    const auto device = safe_shm_device(parse_mountinfo(*text));
    if (!device) return std::nullopt;

    const Fd process_root(::open((process / "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!process_root) return std::nullopt;
    // Closed before this returns: a descriptor that stays open would block an unmount.
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
    // devtmpfs is a tmpfs too, but one whose size nobody set for shared memory: the directory in it counts all the
    // same.
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

std::optional<ShmUsage> fullest_shm(const SysRoot& root,
                                    const std::vector<std::pair<std::uint64_t, pid_t>>& namespaces) {
    std::optional<ShmUsage> fullest;
    std::set<std::uint64_t> answered;
    std::size_t asked = 0;
    for (const auto& [inode, pid] : namespaces) {
        if (answered.count(inode) > 0) continue;
        if (++asked > kNamespaceLimit) break;
        const auto usage = read_shm(root, pid);
        if (!usage) continue;  // the process may be gone: another one of the same namespace may still answer
        answered.insert(inode);
        if (!fullest || is_fuller(*usage, *fullest)) fullest = usage;
    }
    return fullest;
}

}  // namespace memscope
