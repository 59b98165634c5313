#include "sources/memory_parts.h"

#include <algorithm>

namespace memscope {
namespace {

Bytes or_none(const std::optional<Bytes>& bytes) { return bytes.value_or(Bytes{}); }

// Kernels before 5.18 have no sum of it.
Bytes kernel_memory(const MemoryStat& stat) {
    if (stat.kernel) return *stat.kernel;
    return or_none(stat.kernel_stack) + or_none(stat.slab) + or_none(stat.pagetables) + or_none(stat.percpu) +
           or_none(stat.sock);
}

// Pages given back with MADV_FREE stay in anon but are on the file lists: the anonymous lists leave them out.
Bytes anonymous_that_stays(const MemoryStat& stat, Bytes counted) {
    if (!stat.active_anon || !stat.inactive_anon || !stat.unevictable) return counted;
    return std::min(counted, *stat.active_anon + *stat.inactive_anon + *stat.unevictable);
}

}  // namespace

Result<MemoryParts> take_apart(Bytes usage, const MemoryStat& stat) {
    if (!stat.anon || !stat.file)
        return Error{
            std::make_error_code(std::errc::bad_message), "memory.stat lacks the anonymous or file memory", {}};
    const Bytes shmem = or_none(stat.shmem), kernel = kernel_memory(stat);
    MemoryByKind kinds{.anon = *stat.anon,
                       .shmem = shmem,
                       .file = *stat.file - (shmem + or_none(stat.swapcached)),
                       .kernel = kernel,
                       .other = {}};
    kinds.other = usage - (kinds.anon + kinds.shmem + kinds.file + kinds.kernel);
    const Bytes anonymous = anonymous_that_stays(stat, kinds.anon + kinds.shmem);
    return MemoryParts{kinds, anonymous + (kernel - or_none(stat.slab_reclaimable)), stat.pagetables};
}

std::optional<LimitCandidate> limit_candidate(std::string owner, const CgroupLimits& limits, const HeldMemory& held,
                                              const HostMemory& host) {
    const auto memory = finite(limits.memory);
    if (!memory) return std::nullopt;
    if (host.swap_total.n == 0 || !limits.swap) return LimitCandidate{std::move(owner), *memory, held.unreclaimable};

    // What is swapped out already counts on the other side, so it belongs to what swap can take.
    const Bytes room = held.swap + host.swap_free;
    const auto cap = finite(*limits.swap);
    Bytes limit = *memory + room;
    if (cap) limit = limits.version == 1 ? std::min(*cap, limit) : *memory + std::min(*cap, room);
    return LimitCandidate{std::move(owner), limit, held.unreclaimable + held.swap};
}

LimitCandidate host_candidate(const HostMemory& host, bool swap_counts) {
    Bytes limit = host.total - host.hugetlb, free = host.available;
    if (swap_counts) {
        limit += host.swap_total;
        free += host.swap_free;
    }
    return {"host", limit, limit - free};
}

}  // namespace memscope
