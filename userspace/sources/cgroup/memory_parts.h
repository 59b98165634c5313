#pragma once
#include <string>

#include "base/result.h"
#include "model/memory.h"
#include "model/snapshot.h"
#include "sources/cgroup/cgroup_stat.h"

namespace memscope {

// Usage taken apart and what a limit counts, as CONTRACT "Memory of a target" has them. No I/O.
struct MemoryParts {
    MemoryByKind by_kind{};
    Bytes unreclaimable{};
    std::optional<Bytes> page_tables{};  // none: memory.stat does not say
};
// `countable_kernel`: cgroup v1, see countable_kernel_memory(); none: memory.stat says what of the slab can be
// reclaimed.
Result<MemoryParts> take_apart(Bytes usage, const MemoryStat& stat, const std::optional<Bytes>& countable_kernel = {});

// Kernel memory that can be counted by process, and that stays as long as the process does: page tables and the kernel
// stack of each thread.
Bytes countable_kernel_memory(const std::vector<Process>& processes);

// The limits of one cgroup. `swap` is memory.swap.max on v2 (swap alone), memory.memsw.limit_in_bytes on v1 (memory
// and swap together), absent where the kernel does not count swap by cgroup.
struct CgroupLimits {
    int version = 2;
    Limit memory{};
    std::optional<Limit> swap{};
};
// What stands against that limit.
struct HeldMemory {
    Bytes unreclaimable{};
    Bytes swap{};
    Bytes swap_cached{};  // in both
};

// Nothing when the cgroup has no limit. Swap counts only where there is some: then both sides hold it.
std::optional<LimitCandidate> limit_candidate(std::string owner, const CgroupLimits& limits, const HeldMemory& held,
                                              const HostMemory& host);
LimitCandidate host_candidate(const HostMemory& host, bool swap_counts);

}  // namespace memscope
