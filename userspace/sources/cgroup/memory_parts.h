#pragma once
#include <string>

#include "base/result.h"
#include "model/memory.h"
#include "model/snapshot.h"
#include "sources/cgroup/cgroup_stat.h"

namespace memscope {

// The usage by kind and the memory that a limit counts. No I/O.
struct MemoryParts {
    MemoryByKind by_kind{};
    Bytes unreclaimable{};
    std::optional<Bytes> page_tables{};  // none: not in memory.stat
};
// `countable_kernel`: for cgroup v1, see countable_kernel_memory(). `nullopt` (v2 and the host): the reclaimable part
// of the slab is in memory.stat, and the rest of the kernel memory counts.
Result<MemoryParts> split_usage(Bytes usage, const MemoryStat& stat, const std::optional<Bytes>& countable_kernel = {});

// Kernel memory that can be counted by process and that exists as long as the process does: page tables and the kernel
// stack of each thread.
Bytes countable_kernel_memory(const std::vector<Process>& processes);

// The limits of one cgroup. `swap` is memory.swap.max on v2 (swap alone), memory.memsw.limit_in_bytes on v1 (memory
// and swap together), absent if the kernel does not count swap by cgroup.
struct CgroupLimits {
    int version = 2;
    Limit memory{};
    std::optional<Limit> swap{};
};
// The memory that counts against the limit of a cgroup.
struct HeldMemory {
    Bytes unreclaimable{};
    Bytes swap{};
    Bytes swap_cached{};  // pages that count in both of the above
};

// None if the cgroup has no limit. Swap counts only if the host has some: then it is added to both the limit and the
// usage.
std::optional<LimitCandidate> limit_candidate(std::string owner, const CgroupLimits& limits, const HeldMemory& held,
                                              const HostMemory& host);
LimitCandidate host_candidate(const HostMemory& host, bool swap_counts);

}  // namespace memscope
