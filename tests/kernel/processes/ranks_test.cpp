// The limit on the number of ranks, in all data that is kept by rank.
#include "kernel/processes/ranks.h"

namespace memscope {
namespace ranks_test {

constexpr int kMost = static_cast<int>(RankPlaces::kMost);
constexpr RoleKey kFirst{Role::other, 7};

const ScopeVerdict* verdict_of(const TargetSnapshot& target, const RoleKey& role) {
    const auto found = std::ranges::find(target.verdicts, std::optional(role), &ScopeVerdict::role);
    return found == target.verdicts.end() ? nullptr : &*found;
}

TEST(Ranks, BeyondTheBoundHaveNeitherGaugesNorCountersNorVerdicts) {
    const RealCgroup job("ranks-many");
    Watched watched = Watched::with({.cgroups = {job.name()}});
    const RankedProcesses crowd(job, 0, kMost + 19);
    ASSERT_TRUE(watched.tick_until(job, crowd.have_ranks()));
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_EQ(target.counters.size(), RankPlaces::kMost + 1);
    EXPECT_EQ(target.roles.size(), RankPlaces::kMost + 1);
    EXPECT_EQ(target.verdicts.size(), RankPlaces::kMost + 2) << "of the target, of each rank, and of the rest";
    EXPECT_EQ(watched.latest().self.dropped.at("folded_rank"), 20U);
}

TEST(Ranks, ThatLoseTheirPlaceLeaveNothingBehind) {
    const RealCgroup job("ranks-over-time");
    Watched watched = Watched::with({.cgroups = {job.name()}, .keep_ranks = Seconds{}});
    {
        const RankedProcesses first(job, *kFirst.rank, *kFirst.rank);
        ASSERT_TRUE(watched.tick_until(job, [](const auto& target) { return verdict_of(target, kFirst); }));
    }
    watched.tick(job);
    {
        const RankedProcesses crowd(job, 100, 99 + kMost);
        ASSERT_TRUE(watched.tick_until(job, crowd.have_ranks()));
        const TargetSnapshot& target = *watched.find(job);
        EXPECT_FALSE(target.counters.contains(kFirst)) << "its place went to another rank";
        const RoleCounters& without_rank = target.counters.at({Role::other});
        // A tick that comes before the environment of a process is read counts its start without a rank.
        EXPECT_GE(without_rank.starts, 1U) << "its counters were added to its role";
        EXPECT_EQ(without_rank.exits, 1U);
    }
    watched.tick(job);
    const double before = watched.latest().time;
    const RankedProcesses again(job, *kFirst.rank, *kFirst.rank);
    ASSERT_TRUE(watched.tick_until(job, [](const auto& target) { return verdict_of(target, kFirst); }));
    EXPECT_GT(verdict_of(*watched.find(job), kFirst)->began.count(), before) << "the earlier series was not dropped";
}

}  // namespace ranks_test
}  // namespace memscope
