#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace memscope {

// Disjoint, and their sum is the usage.
struct MemoryByKind {
    Bytes anon{};
    Bytes shmem{};
    Bytes file{};
    Bytes kernel{};
    Bytes other{};
};

// Cumulative, as memory.events has them. On cgroup v1 the kernel counts only `max` and `oom_kill`.
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

// One limit that could kill the target, and what stands against it there (siblings included).
struct LimitCandidate {
    std::string owner{};  // "own", the path of an ancestor, "host", "numa node 0", "numa nodes 0-1"
    Bytes limit{};
    Bytes held{};  // unreclaimable memory below that limit, and swap where the limit counts it
};

// The memory of the NUMA nodes that processes of the target are bound to.
bool is_numa_owner(const std::string& owner);

// A limit and what is left below it.
struct EffectiveLimit {
    std::string owner{};  // as a candidate has it
    Bytes limit{};
    Bytes headroom{};

    // Unreclaimable memory below the limit: of an ancestor's or the host's, siblings included; swap where it counts.
    Bytes held() const { return limit - headroom; }
    double held_share() const {  // 0 to 1
        return limit.n == 0 ? 0 : static_cast<double>(held().n) / static_cast<double>(limit.n);
    }
};

// The memory of a target at a tick. CONTRACT: usage, kinds, unreclaimable, limits.
struct MemoryState {
    Bytes usage{};
    MemoryByKind by_kind{};
    Bytes unreclaimable{};
    // cgroup v1: of kernel memory only page tables and the kernel stacks of threads are in `unreclaimable`. Its
    // memory.stat has no slab lines, so caches of inodes and dentries cannot be told from memory that stays.
    bool kernel_partly_counted = false;
    Bytes swap{};
    // Pages that are in memory and in swap at once, so that both `unreclaimable` and `swap` have them. 0 on v1, which
    // takes a page out of its swap count when it comes back. None: this kernel does not say (v2 before 5.12).
    std::optional<Bytes> swap_cached{};
    // The kernel's own high-water mark of the usage, page cache included, since the cgroup was made; none where the
    // kernel keeps none (memory.peak came with 5.19).
    std::optional<Bytes> peak{};
    std::optional<Bytes> peak_in_run{};  // the same, if it rose while it was watched and page cache had no part in it
    std::optional<Bytes> page_tables{};  // of `by_kind.kernel`; none where memory.stat does not say (cgroup v1)
    Limit limit{};                       // the target's own
    std::vector<LimitCandidate> candidates{};
    std::optional<EffectiveLimit> effective{};  // the one with the least headroom
    std::optional<MemoryEvents> events{};       // none for the root
    std::optional<Pressure> pressure{};         // none where the cgroup has no PSI
    // Pages that came back soon after they had been evicted, since the cgroup was made; none where nobody counts them.
    std::optional<Bytes> refaulted{};
    std::string measured_at{};      // the cgroup that was measured, when it is not the target itself
    std::optional<Bytes> others{};  // then: what the target's processes do not hold of it

    // Unreclaimable and swapped out, each page once where the kernel says which ones are both.
    Bytes held() const { return unreclaimable + (swap - swap_cached.value_or(Bytes{})); }
};

// The target's part of what is held below its effective limit; the rest is held by others. 0 without a limit.
Bytes held_by_target(const MemoryState& memory);

// The fullest /dev/shm among the mount namespaces of a tree.
struct ShmUsage {
    Bytes used{};
    Bytes size{};
};

struct HostMemory {
    Bytes total{};
    Bytes available{};
    Bytes hugetlb{};  // set aside, in use or not
    Bytes swap_total{};
    Bytes swap_free{};
    Bytes swap_cached{};  // in memory and in swap at once
    std::optional<Pressure> pressure{};
};

EffectiveLimit as_limit(const LimitCandidate& candidate);

// The limit with the least headroom; ties go to the first.
std::optional<EffectiveLimit> nearest_limit(const std::vector<LimitCandidate>& candidates);

}  // namespace memscope
