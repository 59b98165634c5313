#include "watch/targets/target_source.h"

#include <gtest/gtest.h>

namespace memscope {
namespace target_source_test {

constexpr std::uint64_t kTenth = 100'000'000;

TEST(RefreshSchedule, AChangeIsReadAtOnceAndAgainAtTheTick) {
    RefreshSchedule schedule(true);
    EXPECT_TRUE(schedule.is_due_at_tick(0, false)) << "the first one";
    EXPECT_FALSE(schedule.is_due_at_tick(0, false));
    schedule.note_change();
    EXPECT_TRUE(schedule.is_due_between_ticks(10 * kTenth));
    schedule.refreshed(10 * kTenth);
    EXPECT_FALSE(schedule.is_due_between_ticks(11 * kTenth - 1)) << "a job that makes cgroups in a loop";
    EXPECT_TRUE(schedule.is_due_between_ticks(11 * kTenth));
    EXPECT_TRUE(schedule.is_due_at_tick(0, false));
    EXPECT_FALSE(schedule.is_due_at_tick(0, false));
}

TEST(RefreshSchedule, WithoutCompleteEventsEveryTickSearches) {
    RefreshSchedule blind(false);
    EXPECT_TRUE(blind.is_due_at_tick(0, false));
    EXPECT_TRUE(blind.is_due_at_tick(0, false));
    RefreshSchedule schedule(true);
    schedule.is_due_at_tick(0, false);
    EXPECT_TRUE(schedule.is_due_at_tick(7, false)) << "events were lost";
    EXPECT_FALSE(schedule.is_due_at_tick(7, false));
    EXPECT_TRUE(schedule.is_due_at_tick(7, true)) << "descriptors may be free again";
}

}  // namespace target_source_test
}  // namespace memscope
