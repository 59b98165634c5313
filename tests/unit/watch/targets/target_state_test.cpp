#include "watch/targets/target_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace target_state_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr CgroupId kOuter{1};
constexpr CgroupId kMiddle{2};
constexpr CgroupId kInner{3};

std::vector<CgroupId> ids(const std::vector<TargetState*>& targets) {
    std::vector<CgroupId> found;
    for (const TargetState* target : targets) found.push_back(target->id);
    return found;
}

TEST(WatchedTargets, ListsTargetsAroundAProcessInnermostFirst) {
    WatchedTargets targets;
    targets.add({.id = kInner});
    targets.add({.id = kOuter, .inside = {kInner}});
    targets.add({.id = kMiddle, .enclosing = kOuter, .inside = {kInner}});
    EXPECT_THAT(ids(targets.around(kInner)), ElementsAre(kInner, kMiddle, kOuter));
    EXPECT_EQ(targets.outermost(kInner)->id, kOuter);
    EXPECT_THAT(ids(targets.around(kNoCgroup)), IsEmpty());
    EXPECT_EQ(targets.outermost(kNoCgroup), nullptr);
}

TEST(WatchedTargets, DroppingTheMiddleOneLeavesTheOthersNested) {
    WatchedTargets targets;
    targets.add({.id = kOuter});
    targets.add({.id = kMiddle, .enclosing = kOuter});
    targets.add({.id = kInner, .enclosing = kMiddle});
    targets.drop(kMiddle);
    EXPECT_EQ(targets.find(kMiddle), nullptr);
    EXPECT_THAT(ids(targets.around(kInner)), ElementsAre(kInner, kOuter));
}

TEST(WatchedTargets, ATargetThatIsAddedAgainStartsWithNothing) {
    WatchedTargets targets;
    TargetState& first = targets.add({.id = kOuter});
    first.counters.at({Role::trainer}).starts = 5;
    first.deaths.add({});
    targets.drop(kOuter);
    TargetState& second = targets.add({.id = kOuter});
    EXPECT_THAT(second.counters.all(), IsEmpty());
    TargetSnapshot out;
    second.deaths.hand_over(out);
    EXPECT_EQ(out.death_tally, DeathTally{});
}

TEST(TargetState, RemembersTheLastSnapshotWithoutProcessesAndDeaths) {
    WatchedTargets targets;
    TargetState& target = targets.add({.id = kOuter});
    TargetSnapshot out{.info = {.name = "job"}};
    out.memory.usage = Bytes{5};
    out.processes.emplace_back();
    out.deaths.emplace_back();
    target.remember(out);
    EXPECT_EQ(out.processes.size(), 1U);
    EXPECT_EQ(out.deaths.size(), 1U);
    EXPECT_EQ(target.last_shown.memory.usage, Bytes{5});
    EXPECT_THAT(target.last_shown.processes, IsEmpty());
    EXPECT_THAT(target.last_shown.deaths, IsEmpty());
}

TEST(TargetState, FoldsARankInAllCountersByRole) {
    WatchedTargets targets;
    TargetState& target = targets.add({.id = kOuter});
    const RoleKey ranked{Role::trainer, 3};
    target.counters.at(ranked).starts = 2;
    target.cuda_failures.add(ranked, {}, 7);
    target.fold_rank(ranked);
    EXPECT_FALSE(target.counters.all().contains(ranked));
    EXPECT_EQ(target.counters.all().at({Role::trainer}).starts, 2U);
    TargetSnapshot out;
    target.cuda_failures.describe(out);
    ASSERT_TRUE(out.gpu);
    EXPECT_EQ(out.gpu->failures.size(), 1U);
    EXPECT_EQ(out.gpu->failures.begin()->first.first, (RoleKey{Role::trainer, std::nullopt}));
    EXPECT_EQ(out.gpu->failures.begin()->second, 7U);
}

}  // namespace target_state_test
}  // namespace memscope
