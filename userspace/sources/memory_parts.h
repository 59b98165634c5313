#pragma once
#include <string>

#include "base/result.h"
#include "model/memory.h"
#include "sources/cgroup_stat.h"

namespace memscope {

// Usage taken apart and what a limit counts, as CONTRACT "Memory of a target" has them. No I/O.
struct MemoryParts {
    MemoryByKind by_kind{};
    Bytes unreclaimable{};
    std::optional<Bytes> page_tables{};  // none: memory.stat does not say
};
Result<MemoryParts> take_apart(Bytes usage, const MemoryStat& stat);

// The limits of one cgroup. `swap` is memory.swap.max on v2 (swap alone), memory.memsw.limit_in_bytes on v1 (memory
// and swap together), absent where the kernel does not count swap by cgroup.
struct CgroupLimits {
    int version = 2;
    Limit memory{};
    std::optional<Limit> swap{};
};
// What stands against that limit: unreclaimable, swap used.
struct HeldMemory {
    Bytes unreclaimable{};
    Bytes swap{};
};

// Nothing when the cgroup has no limit. Swap counts only where there is some: then both sides hold it.
std::optional<LimitCandidate> limit_candidate(std::string owner, const CgroupLimits& limits, const HeldMemory& held,
                                              const HostMemory& host);
LimitCandidate host_candidate(const HostMemory& host, bool swap_counts);

}  // namespace memscope
