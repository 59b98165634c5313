// Lows of teeth in place of the floor, and what must not be taken for a leak in them.
#include "analysis/tooth_lows.h"

#include <cmath>
#include <gmock/gmock.h>

#include "analysis/leak.h"
#include "curves.h"

namespace memscope {
namespace {

constexpr double kBudget = 1200;

// `bins` must outlive the findings.
Findings findings_of(const std::vector<Bin>& bins) {
    Findings findings{.bins = bins, .floor = find_floor(bins), .budget = kBudget};
    findings.noise = sample_noise(bins, findings.floor.level);
    findings.segments = find_segments(findings.floor);
    findings.spikes = find_spikes(bins, findings.floor, findings.noise);
    return findings;
}

// Teeth of 4 GiB on 20 GiB, sampled every 15 s. Thirteen samples are 1.7 s longer than a tooth, so that each low is
// sampled 1.7 s later than the one before until a tooth has twelve samples.
Series drifting(double leak_per_hour, double length) {
    return drawn(length, 15, [=](double t) {
        return kGiB * (20 + 4 * std::fmod(t, 193.3) / 193.3 + leak_per_hour * t / 3600 + 0.01 * std::sin(37 * t));
    });
}

TEST(ToothLows, OfAPhaseThatDriftsARiseIsLeftThatShrinksWithEachPass) {
    const auto bins = drifting(0, 9000).bins();
    const Findings findings = findings_of(bins);
    ASSERT_TRUE(findings.spikes);
    const auto lows = find_tooth_lows(bins, *findings.spikes, findings.noise, 0, 48);
    ASSERT_TRUE(lows);
    ASSERT_GE(lows->passed_at.size(), 4U);
    EXPECT_NEAR(lows->blur, 4 * kGiB * 15 / 193.3, 0.1 * kGiB);
    EXPECT_EQ(lows->drift_since(lows->passed_at.back()), lows->blur);
    EXPECT_EQ(lows->drift_since(0), lows->blur / static_cast<double>(1 + lows->passed_at.size()));
}

TEST(ToothLows, LowsThatRiseSinceThePhaseWasPassedLastAreNoLeak) {
    for (double length = 2000; length < 9000; length += 100) {
        const auto bins = drifting(0, length).bins();
        EXPECT_FALSE(find_leak_below_teeth(findings_of(bins), {})) << length;
    }
    const auto bins = drifting(0.5, 9000).bins();
    EXPECT_TRUE(find_leak_below_teeth(findings_of(bins), {}));
}

// Spikes of 6 GiB every 110 s; the level between two of them is given for each.
Series with_levels(const std::function<double(int)>& level, int spikes) {
    return drawn(110 * spikes, 10, [=](double t) {
        const double spike = std::fmod(t, 110) < 25 ? 6 : 0;
        return kGiB * (level(static_cast<int>(t / 110)) + spike + 0.05 * std::sin(37 * t));
    });
}

TEST(ToothLows, TwoJumpsOfTheFloorAreNoLeak) {
    for (int first = 1; first < 8; ++first)
        for (int second = first + 4; second < 24; ++second) {
            const auto jumps = [=](int i) { return 20.0 + (i >= first ? 2 : 0) + (i >= second ? 2 : 0); };
            const auto bins = with_levels(jumps, 28).bins();
            EXPECT_FALSE(find_leak_below_teeth(findings_of(bins), {})) << first << ' ' << second;
        }
    const auto bins = with_levels([](int i) { return 20 + 0.06 * i; }, 28).bins();
    EXPECT_TRUE(find_leak_below_teeth(findings_of(bins), {}));
}

}  // namespace
}  // namespace memscope
