#include "watch/targets/ended_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace ended_targets_test {

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

std::vector<std::string> shown(EndedTargets& ended, std::uint64_t seconds, std::vector<TargetSnapshot> living = {}) {
    Snapshot snapshot{.targets = std::move(living)};
    ended.show(snapshot, at(seconds), false);
    std::vector<std::string> names;
    for (const TargetSnapshot& target : snapshot.targets) names.push_back(target.info.name);
    return names;
}

TEST(EndedTargets, ATargetWithoutDeathsIsGoneAtTheNextTick) {
    EndedTargets ended(Seconds{60});
    ended.end({}, named("a"), at(1));
    EXPECT_THAT(shown(ended, 1), IsEmpty());
}

TEST(EndedTargets, ATargetWithDeathsIsGoneAfterItsLinger) {
    EndedTargets ended(Seconds{60});
    ended.end({}, with_death("a"), at(1));
    EXPECT_THAT(shown(ended, 1), ElementsAre("a"));
    EXPECT_THAT(shown(ended, 60), ElementsAre("a"));
    EXPECT_THAT(shown(ended, 61), IsEmpty());
}

TEST(EndedTargets, ALivingTargetReplacesAnEndedOneOfTheSameName) {
    EndedTargets ended(Seconds{60});
    ended.end({}, with_death("a"), at(1));
    EXPECT_THAT(shown(ended, 1), ElementsAre("a"));
    EXPECT_THAT(shown(ended, 2, {named("a")}), ElementsAre("a"));
}

}  // namespace ended_targets_test
}  // namespace memscope
