#include "analysis/targets/growers.h"

#include <algorithm>
#include <map>

namespace memscope {
namespace {

// There is not a reading at every tick, because the growing process stays the same for many ticks.
constexpr double kReadingsInAWindow = 64;
constexpr Bytes kLeastGrowth{1ULL << 20};
constexpr double kLeastShare = 0.2;  // share of the rise of its role or target
constexpr int kMostLevels = 64;      // a tree that changes during the read may contain cycles

// How many levels a process is below the top of its tree, and the process at the top.
std::pair<int, const Process*> depth_of(const Process& process, std::span<const Process> all) {
    std::map<pid_t, const Process*> by_pid;
    for (const Process& each : all) by_pid[each.task.id.pid] = &each;
    const Process* top = &process;
    int levels = 0;
    for (; levels < kMostLevels; ++levels) {
        const auto parent = by_pid.find(top->task.parent);
        if (parent == by_pid.end()) break;
        top = parent->second;
    }
    return {levels, top};
}

}  // namespace

void Growers::update(Seconds now, const TargetSnapshot& target, Bytes judged) {
    if (now - last_ < window_ / kReadingsInAWindow) return;
    last_ = now;
    std::map<ProcessId, Past> still;
    for (const Process& process : target.processes) {
        if (!process.task.memory || !process.own_known) continue;
        const auto role = target.roles.find({process.role, process.rank});
        // Orphaned pages became its own because its parent wrote to them, so they are not growth of this process.
        const Reading reading{now, process.own_anon() - process.orphaned, judged,
                              role == target.roles.end() ? Bytes{} : role->second.own_anon()};
        auto known = past_.extract(process.task.id);
        Past past = known.empty() ? Past{reading, reading, reading} : known.mapped();
        past.latest = reading;
        if (now - past.since.at >= window_) {
            past.before = past.since;
            past.since = reading;
        }
        still.emplace_hint(still.end(), process.task.id, past);
    }
    past_ = std::move(still);
}

std::optional<Grower> Growers::most_grown(std::span<const Process> processes,
                                          const std::optional<RoleKey>& role) const {
    const Process* most = nullptr;
    Grower grower;
    for (const Process& process : processes) {
        const auto past = past_.find(process.task.id);
        if (past == past_.end() || (role && *role != RoleKey{process.role, process.rank})) continue;
        const auto& [before, since, latest] = past->second;
        const Bytes grown = latest.own - before.own;
        const Bytes rise = role ? latest.role - before.role : latest.target - before.target;
        const double share = rise.n == 0 ? 1 : static_cast<double>(grown.n) / static_cast<double>(rise.n);
        if (grown <= grower.grown || grown < kLeastGrowth || share < kLeastShare) continue;
        most = &process;
        grower.grown = grown;
        grower.share = std::min(share, 1.0);
        grower.over = latest.at - before.at;
    }
    if (!most) return std::nullopt;
    const auto [levels, top] = depth_of(*most, processes);
    grower.pid = most->task.id.pid;
    grower.comm = most->task.comm;
    grower.role = {most->role, most->rank};
    grower.levels = levels;
    grower.top = top->task.comm;
    return grower;
}

}  // namespace memscope
