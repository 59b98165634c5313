#include "analysis/verdict/leak.h"

#include <gtest/gtest.h>

#include "analysis/verdict/verdict.h"

namespace memscope {
namespace leak_test {

constexpr double kEvery = 15;  // seconds between samples
constexpr double kBudget = 1200;

struct Ramp {
    double seconds;
    double from, to;  // GB
};
std::vector<Bin> bins_of(const std::vector<Ramp>& ramps) {
    std::vector<Bin> bins;
    double begin = 0;
    for (const Ramp& ramp : ramps) {
        for (double t = 0; t < ramp.seconds; t += kEvery) {
            const double bytes = (ramp.from + (ramp.to - ramp.from) * t / ramp.seconds) * 1e9;
            bins.push_back({.low = bytes, .high = bytes, .low_at = begin + t, .high_at = begin + t, .count = 1});
        }
        begin += ramp.seconds;
    }
    return bins;
}

Rise last_of(const std::vector<Ramp>& ramps) {
    Rise rise;
    for (std::size_t i = 0; i + 1 < ramps.size(); ++i) rise.began += ramps[i].seconds;
    const Ramp& last = ramps.back();
    rise.length = last.seconds;
    rise.bytes = (last.to - last.from) * 1e9;
    rise.slope = rise.bytes / rise.length;
    return rise;
}

bool is_tooth(const std::vector<Ramp>& ramps) {
    return is_like_an_earlier_tooth(bins_of(ramps), last_of(ramps), kBudget);
}

TEST(AnEarlierTooth, IsARampWithTheSameRateThatWasFreed) {
    EXPECT_TRUE(is_tooth({{1300, 15, 19}, {1300, 15, 19}, {1250, 15, 18.8}}));
    EXPECT_TRUE(is_tooth({{1300, 15, 19}, {1600, 15, 20}})) << "a longer one";
    EXPECT_TRUE(is_tooth({{200, 18.4, 19}, {1600, 15, 19}})) << "the series began within it";
}

TEST(AnEarlierTooth, DoesNotExplainALongerAndHigherRise) {
    EXPECT_FALSE(is_tooth({{1300, 15, 19}, {1300, 15, 19}, {2000, 15, 21.2}})) << "too high for it, and too long";
}

TEST(AnEarlierTooth, ASpikeIsNoTooth) {
    EXPECT_FALSE(is_tooth({{600, 15, 15}, {60, 19, 19}, {600, 15, 15}, {60, 19, 19}, {1000, 15, 18}}))
        << "it was up at once";
}

TEST(AnEarlierTooth, AnEndedRunIsNoTooth) {
    EXPECT_FALSE(is_tooth({{4000, 20, 20.1}, {1500, 12, 18}})) << "it had stood there for an hour";
}

TEST(AnEarlierTooth, DoesNotExplainARiseThatContainsAFall) {
    std::vector<Ramp> ramps{{1300, 15, 19}, {1300, 15, 19}};
    auto bins = bins_of(ramps);
    Rise both = last_of({{0, 0, 0}, {2600, 15, 19}});
    EXPECT_FALSE(is_like_an_earlier_tooth(bins, both, kBudget)) << "the rise of a floor under teeth is another thing";
    EXPECT_FALSE(is_like_an_earlier_tooth({}, both, kBudget));
}

// The third of three teeth, each longer than the budget: two were given back.
TEST(AnEarlierTooth, TheNextToothIsNotAccused) {
    Series series;
    for (const Bin& bin : bins_of({{1230, 15, 18.8}, {1540, 15, 18.8}, {1540, 15, 18.8}})) {
        series.add(Seconds(bin.low_at), Bytes{static_cast<std::uint64_t>(bin.low)});
        if (bin.low_at < 2800) continue;
        EXPECT_NE(judge(series, {}).verdict, Verdict::leaking) << "at " << bin.low_at << " s";
    }
}

}  // namespace leak_test
}  // namespace memscope
