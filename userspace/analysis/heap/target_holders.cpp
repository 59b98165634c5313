#include "analysis/heap/target_holders.h"

#include <algorithm>

#include "analysis/heap/free_growth.h"

namespace memscope {
namespace {

bool is_usable(const ProcessHeap& heap, double now) {
    return heap.held && heap.held->over && Seconds{now - heap.held->time} <= kFreshCensus;
}

Bytes explained(const ProcessHeap& heap, HolderMemory memory) {
    return memory == HolderMemory::host ? heap.held->explained : heap.held->device_explained;
}

// True if the process of this census is a DataLoader worker like the grower, so that its census describes both.
bool stands_for(const TargetSnapshot& target, const ProcessHeap& heap, const Grower& grower) {
    if (heap.role.role != Role::dataloader_worker) return false;
    const auto size_of = [&](pid_t pid) -> std::optional<Bytes> {
        const auto found =
            std::ranges::find_if(target.processes, [&](const Process& each) { return each.task.id.pid == pid; });
        return found == target.processes.end() ? std::nullopt : std::optional(found->own_anon());
    };
    const auto own = size_of(heap.census.process.pid), other = size_of(grower.pid);
    return own && other && are_alike(heap.role, *own, grower.role, *other);
}

}  // namespace

const ProcessHeap* heap_that_grows(const TargetSnapshot& target, const std::optional<RoleKey>& role,
                                   const std::optional<Grower>& grower, double now, HolderMemory memory) {
    const ProcessHeap* most = nullptr;
    for (const ProcessHeap& heap : target.heap) {
        if (!is_usable(heap, now) || (role && heap.role != *role)) continue;
        if (grower && heap.census.process.pid == grower->pid) return &heap;
        if (grower && !stands_for(target, heap, *grower)) continue;
        if (!most || explained(heap, memory) > explained(*most, memory)) most = &heap;
    }
    return most;
}

const ProcessHeap* heap_that_grows(const TargetSnapshot& target, double now) {
    const ScopeVerdict* verdict = target.verdict();
    return heap_that_grows(target, std::nullopt, verdict ? verdict->grower : std::nullopt, now);
}

std::string holders_text(const ProcessHeap* heap, HolderMemory memory) {
    return heap && heap->held ? holder_sentence(*heap->held, memory) : std::string();
}

}  // namespace memscope
