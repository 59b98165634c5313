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

// Those that the processes are in, each with one of its processes.
std::vector<std::pair<std::uint64_t, pid_t>> mount_namespaces(const std::vector<Process>& processes);

// The fullest /dev/shm among the mount namespaces (inode, a process in it), at most 64 of them.
std::optional<ShmUsage> fullest_shm(const SysRoot& root,
                                    const std::vector<std::pair<std::uint64_t, pid_t>>& namespaces);

// A watched process may mount what it likes where it likes, and a file system with a server behind it (FUSE, NFS)
// can hang whoever looks at it. So this answers, from mountinfo alone: the device ("0:25") of the tmpfs at /dev/shm,
// nothing if it is none or if any file system on the way there is not a plain local one.
std::optional<std::string> safe_shm_device(const std::vector<Mount>& mounts);
// A tmpfs without a size limit has 0 blocks: it cannot be full.
std::optional<ShmUsage> shm_usage(std::uint64_t blocks, std::uint64_t free_blocks, std::uint64_t block_size);
bool is_fuller(const ShmUsage& a, const ShmUsage& b);

}  // namespace memscope
