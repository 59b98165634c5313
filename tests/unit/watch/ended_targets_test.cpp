#include "watch/ended_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

TargetSnapshot named(const std::string& name) { return {.info = {.name = name}}; }
TargetSnapshot with_death(const std::string& name) {
    TargetSnapshot target = named(name);
    target.deaths.push_back({});
    target.death_tally.add(target.deaths.front());
    return target;
}
Now at(std::uint64_t seconds) { return {.boot_ns = seconds * kSecond}; }

TEST(EndedTargets, ATargetWithoutDeathsIsGoneAtTheNextTick) {
    EndedTargets ended(Seconds{60});
    ended.end(CgroupId{1}, named("a"), at(1));
    Snapshot snapshot;
    EXPECT_THAT(ended.show(snapshot, at(1), false), ElementsAre("a"));
    EXPECT_THAT(ended.show(snapshot, at(2), false), IsEmpty()) << "once";
}

TEST(EndedTargets, ATargetWithDeathsIsGoneAfterItsLinger) {
    EndedTargets ended(Seconds{60});
    ended.end(CgroupId{1}, with_death("a"), at(1));
    Snapshot first, second, later;
    EXPECT_THAT(ended.show(first, at(1), false), IsEmpty());
    EXPECT_EQ(first.targets.size(), 1U);
    EXPECT_THAT(ended.show(second, at(60), false), IsEmpty());
    EXPECT_EQ(second.targets.size(), 1U);
    EXPECT_THAT(ended.show(later, at(61), false), ElementsAre("a"));
    EXPECT_THAT(later.targets, IsEmpty());
}

// What is kept by its name belongs to the living one now.
TEST(EndedTargets, ANameThatALivingTargetHasIsNotGone) {
    EndedTargets ended(Seconds{60});
    ended.end(CgroupId{1}, named("a"), at(1));
    Snapshot snapshot{.targets = {named("a")}};
    EXPECT_THAT(ended.show(snapshot, at(1), false), IsEmpty());
}

TEST(EndedTargets, ANameThatAnotherEndedTargetStillShowsIsNotGone) {
    EndedTargets ended(Seconds{60});
    ended.end(CgroupId{1}, named("a"), at(1));
    ended.end(CgroupId{2}, with_death("a"), at(1));
    Snapshot snapshot;
    EXPECT_THAT(ended.show(snapshot, at(1), false), IsEmpty());
}

}  // namespace
}  // namespace memscope
