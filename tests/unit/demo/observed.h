#pragma once
#include "analysis/sharing/unsharing_tracker.h"
#include "demo/observation.h"
#include "demo/scenario.h"

namespace memscope {

// The observation of a scenario that runs exactly as planned, with one tick per second. Tests replace curves to get the
// observation of a run that goes wrong.
inline void add_members(Moment& moment, UnsharingStory& story, const Actor& actor, pid_t parent, Seconds t,
                        Bytes inherited) {
    const auto pid = static_cast<pid_t>(100 + moment.members.size());
    moment.cgroup_anon += actor.holds(t) + actor.dataset + actor.rewrites(t) + actor.mallocs(t);
    moment.unshared += actor.rewrites(t);
    story.add({.role = actor.role, .parent = Role::trainer, .copied = actor.rewrites(t)});
    moment.members.push_back({.pid = pid,
                              .parent = parent,
                              .comm = actor.comm,
                              .role = actor.role,
                              .anon = actor.holds(t) + actor.mallocs(t) + actor.dataset + inherited});
    if (const Bytes taken = actor.mallocs(t); taken.n > 0) {
        moment.heap.emplace();
        moment.heap->anon = moment.members.back().anon;
        moment.heap->part(HeapPart::malloc_free) = {taken.n / 10 * 9};
        moment.heap->allocator.trimmable = Bytes{taken.n / 10 * 8};
        moment.cause = GrowthCause::Kind::malloc_free;
    }
    for (const Actor& child : actor.children) add_members(moment, story, child, pid, t, actor.dataset);
}

inline Observation observed(const Actor& top, Seconds until = kScenarioLength) {
    Observation seen;
    constexpr int kRun = 7;  // seconds that each run of a restarted job lasts
    for (int second = 0; Seconds(second) <= until; ++second) {
        const Seconds t(second);
        seen.push_back({.at = t});
        UnsharingStory story;
        const bool grows = top.restarts && top.children.at(0).holds(Seconds(kRun)) > top.children.at(0).holds({});
        const bool killed = grows && second > 0 && second % kRun == 0;
        if (killed)
            seen.back().kills.push_back({.at = t, .role = {Role::trainer, {}}, .comm = "python", .explanation = {}});
        add_members(seen.back(), story, top, 1, top.restarts ? Seconds(second % kRun) : t, {});
        seen.back().held = seen.back().cgroup_anon;
        if (story.is_material(seen.back().cgroup_anon)) seen.back().unsharing = story.text();
    }
    return seen;
}

}  // namespace memscope
