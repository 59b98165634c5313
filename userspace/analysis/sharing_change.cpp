#include "analysis/sharing_change.h"

#include <algorithm>
#include <set>

namespace memscope {
namespace {

// A shell forks for every parenthesis: what small ones shared is assumed to be all they had.
constexpr Bytes kSmall{4ULL << 20};

void arrive(const Sharer& sharer, const Sharers& before, std::uint64_t before_ns, const Sharers& now,
            SharingChange& change) {
    const bool born = sharer.id.start_ns >= before_ns;
    if (!sharer.forked && born) return;  // an exec has given it memory of its own: in both sums
    const Sharer* parent_before = find_sharer(before, sharer.parent);
    const Sharer* parent_now = find_sharer(now, sharer.parent);
    if (!born || !parent_now) {
        change.blind = change.blind || sharer.anon > kSmall;  // it may share with whom we do not see
        return;
    }
    // The parent may have grown since: what it has at both ends was there at the fork.
    Bytes inherited = std::min(sharer.anon, parent_now->anon);
    if (parent_before) inherited = std::min(inherited, parent_before->anon);
    change.born[sharer.id] = inherited;
    change.added += inherited;
}

void leave(const Sharer& sharer, const std::set<pid_t>& parents, SharingChange& change) {
    if (!sharer.forked && !parents.contains(sharer.id.pid)) return;  // all its own: it goes from both sums
    if (sharer.anon > kSmall)
        change.blind = true;
    else
        change.taken += sharer.anon;
}

std::set<pid_t> parents_of_forked(const Sharers& all) {
    std::set<pid_t> parents;
    for (const Sharer& sharer : all)
        if (sharer.forked) parents.insert(sharer.parent);
    return parents;
}

}  // namespace

Sharers sharers_of(std::span<const Process> processes) {
    Sharers all;
    for (const Process& process : processes) {
        const TaskSample& task = process.task;
        if (!task.memory) continue;
        all.push_back({.id = task.id,
                       .anon = task.memory->anon,
                       .mapped = task.memory->file + task.memory->shmem,
                       .swap = task.memory->swap,
                       .parent = task.parent,
                       .forked = task.forked_without_exec,
                       .minor_faults = task.faults.minor});
    }
    return all;
}

const Sharer* find_sharer(const Sharers& all, const ProcessId& id) {
    const auto found = std::ranges::lower_bound(all, id, {}, &Sharer::id);
    return found != all.end() && found->id == id ? &*found : nullptr;
}

const Sharer* find_sharer(const Sharers& all, pid_t pid) {
    const auto found = std::ranges::lower_bound(all, ProcessId{pid, 0}, {}, &Sharer::id);
    return found != all.end() && found->id.pid == pid ? &*found : nullptr;
}

Bytes summed_anon(const Sharers& all) {
    Bytes sum;
    for (const Sharer& sharer : all) sum += sharer.anon;
    return sum;
}

SharingChange compare(const Sharers& before, std::uint64_t before_ns, const Sharers& now) {
    SharingChange change;
    Bytes swap_before, swap_now;
    const std::set<pid_t> parents = parents_of_forked(before);
    for (const Sharer& sharer : now) {
        swap_now += sharer.swap;
        const Sharer* was = find_sharer(before, sharer.id);
        if (!was)
            arrive(sharer, before, before_ns, now, change);
        else if (was->forked && !sharer.forked)
            leave(*was, parents, change);  // by an exec
    }
    for (const Sharer& sharer : before) {
        swap_before += sharer.swap;
        if (!find_sharer(now, sharer.id)) leave(sharer, parents, change);
    }
    // A shared page that is swapped leaves several processes and the cgroup once.
    change.blind = change.blind || swap_before != swap_now;
    return change;
}

}  // namespace memscope
