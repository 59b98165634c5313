#include "analysis/growth/line_history.h"

#include <gtest/gtest.h>

namespace memscope {
namespace line_history_test {

constexpr std::int64_t kMiB = 1 << 20;
constexpr RoleKey kTrainer{Role::trainer, std::nullopt};
constexpr RoleKey kWorker{Role::dataloader_worker, std::nullopt};

struct Looks {
    LineHistory history{Seconds{60}};
    double now = 0;

    void at(std::vector<LineGrowth> lines) { history.update(Seconds(now += 60), lines); }
    std::optional<GrowingLines> growing(std::optional<RoleKey> role = {}) const { return history.growing(role); }
};

TEST(LineHistory, SaysThatTheSameLineGrowsAgainAndAgain) {
    Looks looks;
    for (int i = 0; i < 6; ++i) {
        looks.at({{kTrainer, "validate (train.py:35)", i * 50 * kMiB}, {kTrainer, "step (train.py:12)", i * 5 * kMiB}});
        EXPECT_EQ(looks.growing().has_value(), i >= 3) << "before, it is too early to say";
    }
    const auto growing = looks.growing();
    ASSERT_TRUE(growing);
    EXPECT_TRUE(at_same_lines(*growing));
    EXPECT_EQ(growing->most, "validate (train.py:35)");
    EXPECT_NEAR(growing->share, 50.0 / 55, 0.01);
    EXPECT_EQ(growing->times, 5);
}

TEST(LineHistory, GoesOnInTheNextRunOfAJob) {
    Looks looks;
    for (int run = 0; run < 3; ++run) {
        if (run > 0) looks.history.run_began();
        for (int i = 1; i < 4; ++i) looks.at({{kTrainer, "step (train.py:12)", i * 50 * kMiB}});
    }
    const auto growing = looks.growing();
    ASSERT_TRUE(growing) << "the start of a new run does not count as freed memory";
    EXPECT_EQ(growing->times, 8) << "all intervals except the first";
}

TEST(LineHistory, SaysThatEachTimeItIsAnother) {
    Looks looks;
    std::vector<LineGrowth> lines;
    for (int i = 0; i < 10; ++i) {
        lines.push_back({kTrainer, "part " + std::to_string(i), 50 * kMiB});
        looks.at(lines);
    }
    ASSERT_TRUE(looks.growing());
    EXPECT_TRUE(at_new_lines(*looks.growing()));
}

TEST(LineHistory, CountsStepsFarApartAsSteadyGrowth) {
    Looks looks;
    for (int i = 0; i < 120; ++i) looks.at({{kTrainer, "validate (train.py:35)", i / 30 * 400 * kMiB}});
    ASSERT_TRUE(looks.growing());
    EXPECT_NEAR(looks.growing()->repeated, 0.74, 0.01) << "all except the first, whose weight has decayed";
    EXPECT_EQ(looks.growing()->times, 3);
}

TEST(LineHistory, WhatWasThereAtTheFirstLookIsNoGrowth) {
    Looks looks;
    for (int i = 0; i < 6; ++i)
        looks.at({{kTrainer, "load (data.py:3)", 9000 * kMiB}, {kTrainer, "leak", i * 9 * kMiB}});
    ASSERT_TRUE(looks.growing());
    EXPECT_EQ(looks.growing()->most, "leak");
    EXPECT_NEAR(looks.growing()->share, 1, 1e-9);
}

TEST(LineHistory, NamesNobodyWhereOneLineTakesWhatAnotherGivesBack) {
    Looks looks;
    for (int i = 0; i < 9; ++i) looks.at({{kTrainer, "make", i * 100 * kMiB}, {kTrainer, "free", -i * 97 * kMiB}});
    EXPECT_FALSE(looks.growing());
}

TEST(LineHistory, NamesTheLineThatKeepsMemoryNotTheOneThatTouchedItFirst) {
    Looks looks;
    for (int i = 0; i < 6; ++i)
        looks.at({{kTrainer, "backward", i * 50 * kMiB}, {kTrainer, "validate", i * kMiB, i * 40 * kMiB}});
    ASSERT_TRUE(looks.growing());
    EXPECT_EQ(looks.growing()->most, "validate");
    EXPECT_TRUE(looks.growing()->keeps);
    EXPECT_NEAR(looks.growing()->share, 40.0 / 51, 0.01);
}

TEST(LineHistory, ALineThatKeepsLessThanHalfIsNotTheOwner) {
    Looks looks;
    for (int i = 0; i < 6; ++i) looks.at({{kTrainer, "step", i * 50 * kMiB, i * 20 * kMiB}});
    ASSERT_TRUE(looks.growing());
    EXPECT_FALSE(looks.growing()->keeps);
}

TEST(LineHistory, MemoryOfALineThatIsGoneWasGivenBack) {
    Looks looks;
    for (int i = 0; i < 10; ++i) {
        std::vector<LineGrowth> lines;
        if (i % 2 == 1) lines.push_back({kTrainer, "validate", 200 * kMiB});
        looks.at(std::move(lines));
    }
    EXPECT_FALSE(looks.growing()) << "a spike is no growth";
}

TEST(LineHistory, NamesTheKeeperUnderSpikesOfOthers) {
    Looks looks;
    for (int i = 0; i < 10; ++i)
        looks.at({{kTrainer, "step", i % 2 * 200 * kMiB}, {kTrainer, "validate", i * 30 * kMiB, i * 30 * kMiB}});
    ASSERT_TRUE(looks.growing());
    EXPECT_EQ(looks.growing()->most, "validate");
    EXPECT_FALSE(at_same_lines(*looks.growing()) || at_new_lines(*looks.growing()))
        << "spikes are no evidence for a leak";
}

TEST(LineHistory, KeepsRolesApart) {
    Looks looks;
    for (int i = 0; i < 6; ++i) looks.at({{kTrainer, "flat", 900 * kMiB}, {kWorker, "leak", i * 20 * kMiB}});
    EXPECT_FALSE(looks.growing(kTrainer)) << "it did not grow";
    ASSERT_TRUE(looks.growing(kWorker));
    EXPECT_EQ(looks.growing(kWorker)->most, "leak");
    EXPECT_FALSE(looks.growing(RoleKey{Role::helper, std::nullopt}));
}

TEST(LineHistory, IsBoundedWhateverLinesAProcessInvents) {
    Looks looks;
    for (int i = 0; i < 4; ++i) {
        std::vector<LineGrowth> lines{{kTrainer, "leak", (i + 1) * 900 * kMiB}};
        for (int line = 0; line < 20'000; ++line) lines.push_back({kTrainer, std::to_string(i * 100'000 + line), kMiB});
        looks.at(std::move(lines));
    }
    ASSERT_TRUE(looks.growing());
    EXPECT_EQ(looks.growing()->most, "leak");
}

}  // namespace line_history_test
}  // namespace memscope
