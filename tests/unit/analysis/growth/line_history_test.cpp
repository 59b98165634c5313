#include "analysis/growth/line_history.h"

#include <gtest/gtest.h>

namespace memscope {
namespace line_history_test {

constexpr std::int64_t kMiB = 1 << 20;
constexpr RoleKey kTrainer{Role::trainer, std::nullopt};
constexpr RoleKey kWorker{Role::dataloader_worker, std::nullopt};

struct Ticks {
    LineHistory history{Seconds{60}};
    double now = 0;

    void add(std::vector<LineGrowth> lines) { history.update(Seconds(now += 60), lines); }
    std::optional<GrowingLines> growing(std::optional<RoleKey> role = {}) const { return history.growing(role); }
};

TEST(LineHistory, SaysThatTheSameLineGrowsAgainAndAgain) {
    Ticks ticks;
    for (int i = 0; i < 6; ++i) {
        ticks.add(
            {{kTrainer, "validate (train.py:35)", i * 50 * kMiB}, {kTrainer, "step (train.py:12)", i * 5 * kMiB}});
        EXPECT_EQ(ticks.growing().has_value(), i >= 3) << "before, it is too early to say";
    }
    const auto growing = ticks.growing();
    ASSERT_TRUE(growing);
    EXPECT_TRUE(at_same_lines(*growing));
    EXPECT_EQ(growing->most, "validate (train.py:35)");
    EXPECT_NEAR(growing->share, 50.0 / 55, 0.01);
    EXPECT_EQ(growing->times, 5);
}

TEST(LineHistory, GoesOnInTheNextRunOfAJob) {
    Ticks ticks;
    for (int run = 0; run < 3; ++run) {
        if (run > 0) ticks.history.run_began();
        for (int i = 1; i < 4; ++i) ticks.add({{kTrainer, "step (train.py:12)", i * 50 * kMiB}});
    }
    const auto growing = ticks.growing();
    ASSERT_TRUE(growing) << "the start of a new run does not count as freed memory";
    EXPECT_EQ(growing->times, 8) << "all intervals except the first";
}

TEST(LineHistory, DetectsGrowthAtNewLines) {
    Ticks ticks;
    std::vector<LineGrowth> lines;
    for (int i = 0; i < 10; ++i) {
        lines.push_back({kTrainer, "part " + std::to_string(i), 50 * kMiB});
        ticks.add(lines);
    }
    ASSERT_TRUE(ticks.growing());
    EXPECT_TRUE(at_new_lines(*ticks.growing()));
}

TEST(LineHistory, CountsStepsFarApartAsSteadyGrowth) {
    Ticks ticks;
    for (int i = 0; i < 120; ++i) ticks.add({{kTrainer, "validate (train.py:35)", i / 30 * 400 * kMiB}});
    ASSERT_TRUE(ticks.growing());
    EXPECT_NEAR(ticks.growing()->repeated, 0.74, 0.01) << "all except the first, whose weight has decayed";
    EXPECT_EQ(ticks.growing()->times, 3);
}

TEST(LineHistory, MemoryAtTheFirstTickIsNoGrowth) {
    Ticks ticks;
    for (int i = 0; i < 6; ++i)
        ticks.add({{kTrainer, "load (data.py:3)", 9000 * kMiB}, {kTrainer, "leak", i * 9 * kMiB}});
    ASSERT_TRUE(ticks.growing());
    EXPECT_EQ(ticks.growing()->most, "leak");
    EXPECT_NEAR(ticks.growing()->share, 1, 1e-9);
}

TEST(LineHistory, NamesNoLineIfAnotherLineFreesAsMuch) {
    Ticks ticks;
    for (int i = 0; i < 9; ++i) ticks.add({{kTrainer, "make", i * 100 * kMiB}, {kTrainer, "free", -i * 97 * kMiB}});
    EXPECT_FALSE(ticks.growing());
}

TEST(LineHistory, NamesTheLineThatKeepsMemoryNotTheOneThatTouchedItFirst) {
    Ticks ticks;
    for (int i = 0; i < 6; ++i)
        ticks.add({{kTrainer, "backward", i * 50 * kMiB}, {kTrainer, "validate", i * kMiB, i * 40 * kMiB}});
    ASSERT_TRUE(ticks.growing());
    EXPECT_EQ(ticks.growing()->most, "validate");
    EXPECT_TRUE(ticks.growing()->keeps);
    EXPECT_NEAR(ticks.growing()->share, 40.0 / 51, 0.01);
}

TEST(LineHistory, ALineThatKeepsLessThanHalfIsNotTheOwner) {
    Ticks ticks;
    for (int i = 0; i < 6; ++i) ticks.add({{kTrainer, "step", i * 50 * kMiB, i * 20 * kMiB}});
    ASSERT_TRUE(ticks.growing());
    EXPECT_FALSE(ticks.growing()->keeps);
}

TEST(LineHistory, AMissingLineHasFreedItsMemory) {
    Ticks ticks;
    for (int i = 0; i < 10; ++i) {
        std::vector<LineGrowth> lines;
        if (i % 2 == 1) lines.push_back({kTrainer, "validate", 200 * kMiB});
        ticks.add(std::move(lines));
    }
    EXPECT_FALSE(ticks.growing()) << "a spike is no growth";
}

TEST(LineHistory, NamesTheGrowingLineDespiteSpikesOfOtherLines) {
    Ticks ticks;
    for (int i = 0; i < 10; ++i)
        ticks.add({{kTrainer, "step", i % 2 * 200 * kMiB}, {kTrainer, "validate", i * 30 * kMiB, i * 30 * kMiB}});
    ASSERT_TRUE(ticks.growing());
    EXPECT_EQ(ticks.growing()->most, "validate");
    EXPECT_FALSE(at_same_lines(*ticks.growing()) || at_new_lines(*ticks.growing()))
        << "spikes are no evidence for a leak";
}

TEST(LineHistory, KeepsRolesApart) {
    Ticks ticks;
    for (int i = 0; i < 6; ++i) ticks.add({{kTrainer, "flat", 900 * kMiB}, {kWorker, "leak", i * 20 * kMiB}});
    EXPECT_FALSE(ticks.growing(kTrainer)) << "it did not grow";
    ASSERT_TRUE(ticks.growing(kWorker));
    EXPECT_EQ(ticks.growing(kWorker)->most, "leak");
    EXPECT_FALSE(ticks.growing(RoleKey{Role::helper, std::nullopt}));
}

TEST(LineHistory, IsBoundedForAnyLinesThatAProcessInvents) {
    Ticks ticks;
    for (int i = 0; i < 4; ++i) {
        std::vector<LineGrowth> lines{{kTrainer, "leak", (i + 1) * 900 * kMiB}};
        for (int line = 0; line < 20'000; ++line) lines.push_back({kTrainer, std::to_string(i * 100'000 + line), kMiB});
        ticks.add(std::move(lines));
    }
    ASSERT_TRUE(ticks.growing());
    EXPECT_EQ(ticks.growing()->most, "leak");
}

}  // namespace line_history_test
}  // namespace memscope
