#include "analysis/verdict/restart.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>

#include "curves.h"

namespace memscope {
namespace restart_test {

TEST(Collapse, IsALargeFallWithoutAReturn) {
    const auto restart = [](const std::function<double(double)>& curve) {
        const auto bins = drawn_bins(6000, 5, curve);
        const auto found = find_collapse(bins, std::chrono::minutes(20));
        return found ? std::optional(bins[*found].low_at) : std::nullopt;
    };
    EXPECT_NEAR(*restart([](double t) { return kGiB * (t < 3000 ? 6 : 2); }), 3000, 10);
    EXPECT_FALSE(restart([](double t) { return kGiB * (t > 3000 && t < 3400 ? 6 : 2); }));
    EXPECT_FALSE(restart([](double t) { return kGiB * (t < 3000 ? 6 : 5); }));
    // The end of a process may take a few samples.
    EXPECT_NEAR(*restart(through({{0, 6 * kGiB}, {3000, 6 * kGiB}, {3025, kGiB}, {6000, kGiB}})), 3025, 15);
}

TEST(Collapse, ARampThatStartsAgainIsNoCollapse) {
    const auto twice = [](double after) {
        return drawn_bins(6000, 5, [=](double t) { return kGiB * (1 + (t < 3000 ? t : after * (t - 3000)) / 500); });
    };
    EXPECT_FALSE(find_collapse(twice(1), std::chrono::minutes(20)));    // a tooth, and the next one
    EXPECT_TRUE(find_collapse(twice(0.05), std::chrono::minutes(20)));  // another job
}

std::vector<double> restarts_of(std::vector<Bin> bins, const std::optional<std::vector<double>>& replaced = {}) {
    std::vector<double> at;
    for (const std::size_t bin : find_restarts(bins, replaced)) at.push_back(bins[bin].low_at);
    return at;
}

// Loads its model to 6 GiB within `load` seconds and grows to 14 GiB, again and again.
std::function<double(double)> crash_loop(double load) {
    return [=](double t) {
        const double age = std::fmod(t, 2000);
        if (age < 20) return 0.3 * kGiB;
        return kGiB * (0.3 + 5.7 * std::min(1.0, (age - 20) / load) + 8 * age / 2000);
    };
}

TEST(Restarts, AreFallsBelowTheLevelFromWhichGrowthResumes) {
    for (const double load : {1.0, 60.0, 200.0})
        EXPECT_EQ(restarts_of(drawn_bins(9500, 5, crash_loop(load))).size(), 4U) << load;
}

TEST(Restarts, DeepTeethAreNoRestarts) {
    EXPECT_TRUE(restarts_of(drawn_bins(9500, 5, [](double t) {
                    return kGiB * (0.3 + 14 * std::fmod(t, 2000) / 2000);
                })).empty());
}

TEST(Restarts, EndsOfSpikesAreNoRestarts) {
    EXPECT_TRUE(
        restarts_of(drawn_bins(9500, 5, [](double t) { return kGiB * (std::fmod(t, 500) < 100 ? 12 : 2); })).empty());
}

TEST(Restarts, AReadingOfZeroIsNoRestart) {
    auto bins = drawn_bins(3600, 5, [](double t) { return t == 1800 ? 0 : 6 * kGiB; });
    const std::size_t all = bins.size();
    EXPECT_TRUE(find_restarts(bins, std::nullopt).empty());
    EXPECT_EQ(bins.size(), all - 1);
}

TEST(Restarts, AreTakenFromTheProcessTreeIfItIsKnown) {
    const auto bins = drawn_bins(9500, 5, crash_loop(60));
    EXPECT_EQ(restarts_of(bins, std::vector<double>{2010, 6010}).size(), 2U);
    EXPECT_TRUE(restarts_of(bins, std::vector<double>{}).empty());
    // A trainer that is replaced while the memory stays has given nothing back.
    EXPECT_TRUE(restarts_of(drawn_bins(9500, 5, [](double) { return kGiB; }), std::vector<double>{2010}).empty());
}

}  // namespace restart_test
}  // namespace memscope
