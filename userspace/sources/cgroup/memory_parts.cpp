#include "sources/cgroup/memory_parts.h"

#include <algorithm>

#include "base/units.h"

namespace memscope {
namespace {

Bytes or_zero(const std::optional<Bytes>& bytes) { return bytes.value_or(Bytes{}); }

// Kernels before 5.18 have no sum of the kernel memory.
Bytes kernel_memory(const MemoryStat& stat) {
    if (stat.kernel) return *stat.kernel;
    return or_zero(stat.kernel_stack) + or_zero(stat.slab) + or_zero(stat.pagetables) + or_zero(stat.percpu) +
           or_zero(stat.sock);
}

// Pages freed with MADV_FREE still count as anon but are on the file lists, so the anonymous lists do not contain them.
Bytes anonymous_that_stays(const MemoryStat& stat, Bytes counted) {
    if (!stat.active_anon || !stat.inactive_anon || !stat.unevictable) return counted;
    return std::min(counted, *stat.active_anon + *stat.inactive_anon + *stat.unevictable);
}

}  // namespace

Result<MemoryParts> split_usage(Bytes usage, const MemoryStat& stat, const std::optional<Bytes>& countable_kernel) {
    if (!stat.anon || !stat.file)
        return Error{std::make_error_code(std::errc::bad_message),
                     "memory.stat has no line for anonymous or for file memory",
                     {}};
    const Bytes shmem = or_zero(stat.shmem), kernel = kernel_memory(stat);
    MemoryByKind kinds{.anon = *stat.anon,
                       .shmem = shmem,
                       .file = *stat.file - (shmem + or_zero(stat.swapcached)),
                       .kernel = kernel,
                       .other = {}};
    kinds.other = usage - (kinds.anon + kinds.shmem + kinds.file + kinds.kernel);
    const Bytes anonymous = anonymous_that_stays(stat, kinds.anon + kinds.shmem);
    const Bytes kernel_that_stays =
        countable_kernel ? std::min(kernel, *countable_kernel) : kernel - or_zero(stat.slab_reclaimable);
    return MemoryParts{kinds, anonymous + kernel_that_stays, stat.pagetables};
}

Bytes countable_kernel_memory(const std::vector<Process>& processes) {
    // THREAD_SIZE: 16 KiB on x86-64 and arm64, and at least a page.
    static const std::uint64_t stack = std::max<std::uint64_t>(16384, page_bytes());
    Bytes sum;
    for (const Process& process : processes) {
        sum += Bytes{process.task.threads * stack};
        if (process.task.memory) sum += process.task.memory->page_tables;
    }
    return sum;
}

std::optional<LimitCandidate> limit_candidate(std::string owner, const CgroupLimits& limits, const HeldMemory& held,
                                              const HostMemory& host) {
    const auto memory = finite(limits.memory);
    if (!memory) return std::nullopt;
    if (host.swap_total.n == 0 || !limits.swap) return LimitCandidate{std::move(owner), *memory, held.unreclaimable};

    // Swapped-out memory is part of the held memory, so it is added to the room for swap, too.
    const Bytes room = held.swap + host.swap_free;
    const auto cap = finite(*limits.swap);
    Bytes limit = *memory + room;
    if (cap) limit = limits.version == 1 ? std::min(*cap, limit) : *memory + std::min(*cap, room);
    return LimitCandidate{std::move(owner), limit, held.unreclaimable + (held.swap - held.swap_cached)};
}

LimitCandidate host_candidate(const HostMemory& host, bool swap_counts) {
    Bytes limit = host.total - host.hugetlb, free = host.available;
    if (swap_counts) {
        limit += host.swap_total;
        // A page in the swap cache occupies both swap and memory, but needs only one of them.
        free += host.swap_free + host.swap_cached;
    }
    return {"host", limit, limit - free};
}

}  // namespace memscope
