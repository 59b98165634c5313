#include "watch/targets/ended_targets.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "analysis/targets/job_end.h"

namespace memscope {

void EndedTargets::end(TargetSnapshot shown, TargetSnapshot last, const Now& now) {
    TargetSnapshot ended = std::move(shown);
    ended.info = std::move(last.info);
    ended.run = last.run;
    end_target(ended);
    // The target has no processes any more, so no process holds memory.
    ended.roles.clear();
    ended.gpu.reset();
    ended.sharing = {};
    ended.counters = std::move(last.counters);
    ended.deaths = std::move(last.deaths);
    ended.death_tally = last.death_tally;
    ended.last_death = std::move(last.last_death);
    const auto stay = std::chrono::duration_cast<std::chrono::nanoseconds>(linger_).count();
    ended_.push_back({std::move(ended), now.boot_ns + static_cast<std::uint64_t>(stay)});
}

void EndedTargets::show(Snapshot& snapshot, const Now& now, bool nothing_else) {
    if (ended_.empty()) return;
    std::unordered_set<std::string_view> living;
    for (const TargetSnapshot& target : snapshot.targets) living.insert(target.info.name);
    const auto is_back = [&](const Ended& ended) { return living.contains(ended.last.info.name); };
    std::erase_if(ended_, [&](const Ended& ended) {
        if (!ended.last.deaths.empty()) return false;
        const bool nothing_to_show = ended.last.death_tally == DeathTally{} && !nothing_else;
        return nothing_to_show || now.boot_ns >= ended.until_ns || is_back(ended);
    });
    for (Ended& ended : ended_) {
        snapshot.targets.push_back(ended.last);
        ended.last.deaths.clear();
    }
}

}  // namespace memscope
