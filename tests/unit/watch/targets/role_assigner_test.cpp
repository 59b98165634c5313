#include "watch/targets/role_assigner.h"

#include <gtest/gtest.h>

namespace memscope {
namespace role_assigner_test {

constexpr CgroupId kOuter{10};
constexpr CgroupId kInner{11};
constexpr CgroupId kBeside{20};

// Assigns roles and then updates counters, as a tick does.
struct Ranked {
    ProcessTable table{1000};
    WatchedTargets targets;
    RoleAssigner roles{{}};
    std::uint64_t now_ns = 2000;

    Ranked() {
        targets.add({.id = kOuter});
        targets.add({.id = kInner, .enclosing = kOuter});
    }
    ProcessId start(pid_t pid, int rank, CgroupId target = kInner) {
        const ProcessId id{pid, ++now_ns};
        table.apply(Forked{.time_ns = now_ns, .id = id, .parent = 1, .target = target, .comm = "job"});
        table.set_details(table.living().at(pid), {"job"}, rank);
        return id;
    }
    void end(const ProcessId& id) {
        table.apply(Exited{.time_ns = ++now_ns, .id = id, .target = kInner, .comm = "job"});
    }
    void tick(Seconds now) {
        roles.assign(table, targets, now);
        const LedgersAround around = [this](CgroupId innermost) { return targets.ledgers_around(innermost); };
        for (const TrackedProcess& process : table.ended()) count_process(process, process.role, around);
        table.forget_ended();
        for (auto& [pid, process] : table.living()) {
            if (!process.has_news()) continue;
            count_process(process, process.role, around);
            process.settle();
        }
    }
    const std::map<RoleKey, RoleCounters>& counters(CgroupId target) { return targets.find(target)->counters.all(); }
    std::uint64_t starts(CgroupId target) {
        std::uint64_t starts = 0;
        for (const auto& [key, counted] : counters(target)) starts += counted.starts;
        return starts;
    }
};

TEST(RoleAssigner, RanksBeyondTheBoundAreShownButNotCounted) {
    Ranked job;
    for (int i = 0; i < 4000; ++i) job.start(100 + i, i);
    job.tick(Seconds(1));
    job.tick(Seconds(2));
    EXPECT_EQ(job.counters(kInner).size(), RankPlaces::kMost + 1);
    EXPECT_EQ(job.roles.folded_ranks(), 4000 - RankPlaces::kMost);
    TrackedProcess& folded = job.table.living().at(100 + 3999);
    EXPECT_EQ(folded.role.rank, std::nullopt);
    EXPECT_EQ(shown(folded, Now{}).own_rank(), 3999);
    EXPECT_EQ(shown(job.table.living().at(100), Now{}).rank, 0);
}

TEST(RoleAssigner, EachTargetHasItsOwnBoundOfRanks) {
    Ranked job;
    job.targets.add({.id = kBeside});
    for (int i = 0; i < 4000; ++i) job.start(100 + i, i);
    job.start(90'000, 7777, kBeside);
    job.tick(Seconds(1));
    EXPECT_EQ(job.table.living().at(90'000).role.rank, 7777);
}

TEST(RoleAssigner, GivesAFoldedProcessItsRankOnceAPlaceIsFree) {
    Ranked job;
    std::vector<ProcessId> crowd;
    for (int i = 0; i < static_cast<int>(RankPlaces::kMost); ++i) crowd.push_back(job.start(100 + i, i));
    job.start(90'000, 7777);
    job.tick(Seconds(1));
    EXPECT_EQ(job.table.living().at(90'000).role.rank, std::nullopt);
    for (const ProcessId& id : crowd) job.end(id);
    job.tick(Seconds(2));
    job.tick(Seconds(2) + RankPlaces::kKeep);  // no process started or ended
    EXPECT_EQ(job.table.living().at(90'000).role.rank, 7777);
    EXPECT_EQ(job.table.living().at(90'000).folded_rank, std::nullopt);
}

TEST(RoleAssigner, ThirtyThousandRanksOverTimeKeepTheCountersBoundedAndComplete) {
    Ranked job;
    for (int tick = 0; tick < 300; ++tick) {
        std::vector<ProcessId> ids;
        for (int i = 0; i < 100; ++i) ids.push_back(job.start(100 + i, tick * 100 + i));
        job.tick(Seconds(tick));
        for (const ProcessId& id : ids) job.end(id);
        for (const CgroupId target : {kOuter, kInner}) EXPECT_LE(job.counters(target).size(), RankPlaces::kMost + 1);
    }
    job.tick(Seconds(300));
    EXPECT_EQ(job.starts(kInner), 30'000U);
    EXPECT_EQ(job.starts(kOuter), 30'000U);
}

}  // namespace role_assigner_test
}  // namespace memscope
