// Which falls of a sawtooth may look like the end of a job.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <gmock/gmock.h>

#include "analysis/verdict/restart.h"
#include "curves.h"

namespace memscope {
namespace restart_collapse_test {

// A sawtooth on 3 GiB that grows by 1 GiB in 500 s and falls at these times. It is judged at `until`.
struct Sawtooth {
    std::vector<double> falls{};
    double until = 0;
    std::pair<double, double> gap{};      // no samples between these times
    std::pair<double, double> lowered{};  // the floor falls at this time by these bytes
    double lasts = 0;                     // how long a fall lasts, in seconds
    double interval = 5;                  // between two samples, in seconds
    double noise = 0;                     // bytes
};

std::optional<double> collapse_of(const Sawtooth& teeth) {
    Series series;
    for (double t = 0; t <= teeth.until; t += teeth.interval) {
        if (t > teeth.gap.first && t < teeth.gap.second) continue;
        const double floor = 3 * kGiB - (t < teeth.lowered.first ? 0 : teeth.lowered.second);
        const auto next = std::ranges::upper_bound(teeth.falls, t);
        const double until = next == teeth.falls.end() ? t : std::min(t, *next - teeth.lasts);  // where the fall begins
        const double left = 1 - (t - until) / std::max(teeth.lasts, 1.0);
        const double bytes = floor + kGiB * left * (until - *std::prev(next)) / 500 + teeth.noise * std::sin(37 * t);
        series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(bytes)});
    }
    const auto bins = series.bins();
    const auto found = find_collapse(bins, std::chrono::minutes(20));
    return found ? std::optional(bins[*found].low_at) : std::nullopt;
}

// The fall at 1500 s is too small for a collapse.
TEST(Collapse, IsNotDetectedIfTheNextFallEndsATooth) {
    EXPECT_FALSE(collapse_of({{0, 1000, 1500}, 1900}));
    EXPECT_FALSE(collapse_of({{0, 1000, 1500}, 2400}));
    EXPECT_FALSE(collapse_of({.falls = {0, 1000, 1500}, .until = 2600, .lasts = 20}));
}

// The falls after the one at 3000 s are too small for a collapse. A line through their teeth begins above the first of
// them, as if a job had loaded its model.
TEST(Collapse, SmallTeethAfterEarlierLargeTeethAreNoCollapse) {
    EXPECT_FALSE(collapse_of({{-300, 500, 1000, 1500, 2000, 3000, 3500, 4000, 4500, 5000, 5500}, 5900}));
}

// A fall in the first three minutes does not count as a collapse. The samples before it are no part of the next tooth.
TEST(Collapse, IsNotDetectedIfTheSeriesBeginsShortlyBeforeAFall) {
    EXPECT_FALSE(collapse_of({{-2200, 100, 2400}, 4000}));
}

TEST(Collapse, IsNotDetectedIfTheSeriesBeginsInTheMiddleOfATooth) {
    EXPECT_FALSE(collapse_of({{-1000, 1000}, 2000}));
    EXPECT_FALSE(collapse_of({{-1000, 1000}, 3000}));
    // After a whole tooth, a fall to a much lower level ends the job.
    EXPECT_TRUE(collapse_of({.falls = {0, 2000, 4000}, .until = 5500, .lowered = {4000, 2 * kGiB}}));
}

TEST(Collapse, IsNotDetectedIfALongToothIsNotHigherThanAnEarlierOne) {
    EXPECT_FALSE(collapse_of({{0, 3000, 5000}, 7900}));
    EXPECT_TRUE(collapse_of({{0, 3000, 5000}, 8200}));
}

// The samples do not show the fall at 1600 s. After the gap they are lower than the tooth would be.
TEST(Collapse, IsNotDetectedIfAGapHidesTheNextFall) {
    for (const double until : {1700, 2000, 2350, 2450})
        EXPECT_FALSE(collapse_of({{-100, 800, 1600}, until, {1040, 1680}})) << until;
}

TEST(Collapse, IsNotDetectedIfAGapHidesTheFallBefore) {
    for (const double until : {2500, 2800, 3200})
        EXPECT_FALSE(collapse_of({{-100, 800, 1600, 2450}, until, {1040, 1900}})) << until;
}

// The slope of a few samples after a gap may be noise.
TEST(Collapse, IsNotDetectedIfAGapBeforeTheFallHidesNothing) {
    for (const double ends : {1880, 1900, 1920, 1940})
        EXPECT_FALSE(
            collapse_of({.falls = {0, 2000}, .until = 3000, .gap = {1400, ends}, .interval = 20, .noise = 0.15 * kGiB}))
            << ends;
}

}  // namespace restart_collapse_test
}  // namespace memscope
