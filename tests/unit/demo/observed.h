#pragma once
#include "demo/observation.h"
#include "demo/scenario.h"

namespace memscope {

// What a watcher sees of a scenario that is played perfectly, once a second. Curves can be replaced: then it is what
// it sees of one that goes wrong.
inline void add_members(Moment& moment, const Actor& actor, pid_t parent, Seconds t, Bytes inherited) {
    const auto pid = static_cast<pid_t>(100 + moment.members.size());
    moment.cgroup_anon += actor.holds(t) + actor.dataset + actor.rewrites(t);
    moment.members.push_back({.pid = pid,
                              .parent = parent,
                              .comm = actor.comm,
                              .role = actor.role,
                              .anon = actor.holds(t) + actor.dataset + inherited});
    for (const Actor& child : actor.children) add_members(moment, child, pid, t, actor.dataset);
}

inline Observation observed(const Actor& top, Seconds until = kScenarioLength) {
    Observation seen;
    for (Seconds t{}; t <= until; t += Seconds{1}) {
        seen.push_back({.at = t});
        add_members(seen.back(), top, 1, t, {});
    }
    return seen;
}

}  // namespace memscope
