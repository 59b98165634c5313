#include "watch/targets/target_reader.h"

#include <gtest/gtest.h>

namespace memscope {
namespace target_reader_test {

SelfSample described(const MissedTargets& missed) {
    SelfSample self;
    missed.describe(self);
    return self;
}

TEST(MissedTargets, ATargetThatStaysWithoutADescriptorIsCountedOnce) {
    MissedTargets missed;
    missed.refreshed(3);
    missed.refreshed(3);
    EXPECT_TRUE(missed.lacks_descriptors());
    EXPECT_EQ(described(missed).dropped["target_no_descriptor"], 3U);
    EXPECT_EQ(described(missed).unwatched_targets, 3U);
    missed.refreshed(0);
    missed.refreshed(2);
    EXPECT_EQ(described(missed).dropped["target_no_descriptor"], 5U);
    EXPECT_EQ(described(missed).unwatched_targets, 2U);
}

TEST(MissedTargets, EverySampleThatFailedIsCountedByItsReason) {
    MissedTargets missed;
    for (int tick = 0; tick < 2; ++tick) {
        missed.begin_tick();
        missed.not_sampled(system_error(EMFILE, "open memory.current"));
        missed.not_sampled(system_error(EIO, "read memory.current"));
    }
    EXPECT_EQ(described(missed).dropped["target_no_descriptor"], 2U);
    EXPECT_EQ(described(missed).dropped["target_unreadable"], 2U);
    EXPECT_EQ(described(missed).unwatched_targets, 1U) << "at the last tick";
    EXPECT_FALSE(missed.lacks_descriptors()) << "a search could not help";
}

}  // namespace target_reader_test
}  // namespace memscope
