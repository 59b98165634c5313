#include "analysis/deaths/death_moment.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

namespace memscope {
namespace {

constexpr double kSoonAfter = 2;     // seconds
constexpr double kStillWhole = 0.9;  // share of the memory that the dead process held (Death::rss_anon)

// Order of the causes; 0 is the most decisive. A lack of memory explains the other deaths, because the remaining
// processes exit soon after it.
int rank_of(DeathCause cause) {
    switch (cause) {
        case DeathCause::oom_kill:
            return 0;
        case DeathCause::cuda_oom:
        case DeathCause::alloc_failed:
        case DeathCause::sigbus:
            return 1;
        case DeathCause::sigkill:
            return 2;
        case DeathCause::signal:
            return 3;
    }
    return 4;
}

// Of several victims of the OOM killer, the largest is decisive, because the kernel chooses the largest process. The
// times of the exits do not decide, because a smaller process frees its memory faster and so exits earlier.
bool more_decisive(const Death& a, const Death& b) {
    const auto order = [](const Death& death) {
        const bool killed_along = death.oom && !death.oom->marked;
        const double size = death.oom && death.rss_anon ? static_cast<double>(death.rss_anon->n) : 0;
        return std::tuple(!death.news, rank_of(death.cause), killed_along, -size, death.time, death.id);
    };
    return order(a) < order(b);
}

const Process* find_process(const TargetSnapshot& target, const ProcessId& id) {
    const auto found = std::ranges::find(target.processes, id, [](const Process& process) { return process.task.id; });
    return found == target.processes.end() ? nullptr : &*found;
}

bool is_whole(const TargetSnapshot& target, const Death& death) {
    const Process* process = find_process(target, death.id);
    if (!process || !process->task.memory) return false;
    return static_cast<double>(process->task.memory->anon.n) >=
           kStillWhole * static_cast<double>(death.rss_anon.value_or(Bytes{}).n);
}

}  // namespace

std::vector<DeathMoment> death_moments(const Snapshot& now) {
    // The path of an inner cgroup is longer than that of its ancestors.
    std::map<ProcessId, const TargetSnapshot*> innermost;
    for (const TargetSnapshot& target : now.targets)
        for (const Death& death : target.deaths) {
            const TargetSnapshot*& known = innermost[death.id];
            if (!known || target.info.name.size() > known->info.name.size()) known = &target;
        }
    std::vector<DeathMoment> moments;
    for (const TargetSnapshot& target : now.targets) {
        DeathMoment moment{.target = target.info.name};
        for (const Death& death : target.deaths)
            if (innermost[death.id] == &target) moment.deaths.push_back(death);
        std::ranges::stable_sort(moment.deaths, more_decisive);
        if (!moment.deaths.empty()) moments.push_back(std::move(moment));
    }
    return moments;
}

bool belongs_to(const DeathMoment& later, const Death& decisive) {
    const Death& next = later.deaths.front();
    return next.time - decisive.time <= kSoonAfter && (!next.news || rank_of(next.cause) >= rank_of(decisive.cause));
}

const Snapshot* last_alive(const std::deque<SnapshotPtr>& recent, const std::string& target, const Death& death) {
    const Snapshot* any = nullptr;
    for (const SnapshotPtr& snapshot : recent | std::views::reverse) {
        const TargetSnapshot* found = find_target(*snapshot, target);
        if (!found || !found->up) continue;
        if (is_whole(*found, death)) return snapshot.get();
        if (!any) any = snapshot.get();
    }
    return any;
}

}  // namespace memscope
