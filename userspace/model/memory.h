#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace memscope {

// The kinds are disjoint, and their sum is the usage.
struct MemoryByKind {
    Bytes anon{};
    Bytes shmem{};
    Bytes file{};
    Bytes kernel{};
    Bytes other{};
};

// Cumulative counters, as in memory.events. On cgroup v1 the kernel counts only `max` and `oom_kill`.
struct MemoryEvents {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t max = 0;
    std::uint64_t oom = 0;
    std::uint64_t oom_kill = 0;
    std::uint64_t oom_group_kill = 0;
};

// Pressure stall information of memory: cumulative stall time and the share of the last ten seconds.
struct Pressure {
    Seconds some{};
    Seconds full{};
    double some_avg10 = 0;  // 0 to 1
    double full_avg10 = 0;
};

// A limit that could cause an OOM kill in the target, and the memory that counts against it (siblings included).
struct LimitCandidate {
    std::string owner{};  // "own", the path of an ancestor, "host", "numa node 0", "numa nodes 0-1"
    Bytes limit{};
    Bytes held{};  // unreclaimable memory below that limit, and swap if the limit counts it
};

// True if the limit is the memory of the NUMA nodes to which processes of the target are bound.
bool is_numa_owner(const std::string& owner);

// A limit and its headroom.
struct EffectiveLimit {
    std::string owner{};  // as in LimitCandidate
    Bytes limit{};
    Bytes headroom{};

    // Unreclaimable memory below the limit. For an ancestor or the host it includes siblings. It includes swap if the
    // limit counts it.
    Bytes held() const { return limit - headroom; }
    double held_share() const {  // 0 to 1
        return limit.n == 0 ? 0 : static_cast<double>(held().n) / static_cast<double>(limit.n);
    }
};

// The memory of a target at a tick. docs/glossary.md explains the terms.
struct MemoryState {
    Bytes usage{};
    MemoryByKind by_kind{};
    Bytes unreclaimable{};
    // cgroup v1: of kernel memory only page tables and the kernel stacks of threads are in `unreclaimable`. Its
    // memory.stat has no slab lines, so inode and dentry caches cannot be distinguished from unreclaimable memory.
    bool kernel_partly_counted = false;
    Bytes swap{};
    // Pages that are in memory and in swap at the same time, so that they count in both `unreclaimable` and `swap`. 0
    // on v1, which removes a page from its swap count when it is swapped in. None: this kernel does not report it (v2
    // before 5.12).
    std::optional<Bytes> swap_cached{};
    // The kernel's high-water mark of the usage since the cgroup was created, page cache included. None if the kernel
    // has no memory.peak (added in 5.19).
    std::optional<Bytes> peak{};
    std::optional<Bytes> peak_in_run{};  // the high-water mark, if it rose during the run without page cache
    std::optional<Bytes> page_tables{};  // part of `by_kind.kernel`; none if not in memory.stat (cgroup v1)
    Limit limit{};                       // of the target itself
    std::vector<LimitCandidate> candidates{};
    std::optional<EffectiveLimit> effective{};  // the limit with the least headroom
    std::optional<MemoryEvents> events{};       // none for the root cgroup
    std::optional<Pressure> pressure{};         // none if the cgroup has no PSI
    // Pages that were read again soon after they had been evicted, since the cgroup was created. None if the kernel
    // does not count them.
    std::optional<Bytes> refaulted{};
    std::string measured_at{};      // the cgroup that was measured, if it is not the target itself
    std::optional<Bytes> others{};  // then: the part of its usage that other processes hold

    // Unreclaimable and swapped-out memory. Counts each page once if the kernel reports `swap_cached`.
    Bytes held() const { return unreclaimable + (swap - swap_cached.value_or(Bytes{})); }
};

// The part of the memory below the effective limit that the target holds. Other targets and processes hold the rest. 0
// without a limit.
Bytes held_by_target(const MemoryState& memory);

// The fullest /dev/shm among the mount namespaces of a tree.
struct ShmUsage {
    Bytes used{};
    Bytes size{};
};

struct HostMemory {
    Bytes total{};
    Bytes available{};
    Bytes hugetlb{};  // reserved, used or not
    Bytes swap_total{};
    Bytes swap_free{};
    Bytes swap_cached{};  // in memory and in swap at the same time
    std::optional<Pressure> pressure{};
};

EffectiveLimit as_limit(const LimitCandidate& candidate);

// The limit with the least headroom; of equal ones the first.
std::optional<EffectiveLimit> nearest_limit(const std::vector<LimitCandidate>& candidates);

}  // namespace memscope
