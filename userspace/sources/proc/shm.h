#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/files.h"
#include "model/memory.h"
#include "model/snapshot.h"
#include "sources/proc/mountinfo.h"

namespace memscope {

// The mount namespaces of the processes, each with the pid of one process in it.
std::vector<std::pair<std::uint64_t, pid_t>> mount_namespaces(const std::vector<Process>& processes);

// The fullest /dev/shm of the mount namespaces (inode, pid of a process in it). Reads at most 64 of them, and at most
// 64 MiB of their lists of mounts. An error if none was found and a list was longer than memscope reads.
Result<std::optional<ShmUsage>> fullest_shm(const SysRoot& root,
                                            const std::vector<std::pair<std::uint64_t, pid_t>>& namespaces);

// A watched process may mount any file system at any place, and a file system with a server (FUSE, NFS) can block a
// process that accesses it. So this function decides from mountinfo alone. Returns the device ("0:25") of the tmpfs at
// /dev/shm. None if /dev/shm is not a tmpfs, or if a file system on the path to it is not a plain local one.
std::optional<std::string> safe_shm_device(const std::vector<Mount>& mounts);
// A tmpfs without a size limit reports 0 blocks and cannot be full: none.
std::optional<ShmUsage> shm_usage(std::uint64_t blocks, std::uint64_t free_blocks, std::uint64_t block_size);
bool is_fuller(const ShmUsage& a, const ShmUsage& b);

}  // namespace memscope
