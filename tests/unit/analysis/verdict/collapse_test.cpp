// Which falls of a sawtooth may look like the end of a job.
#include <algorithm>
#include <gmock/gmock.h>

#include "analysis/verdict/restart.h"
#include "curves.h"

namespace memscope {
namespace {

// A sawtooth on 3 GiB that grows by 1 GiB in 500 s and falls at these times. It is judged at `until`.
std::optional<double> collapse_of(
    const std::vector<double>& falls, double until,
    const std::function<double(double)>& floor = [](double) { return 3 * kGiB; }) {
    const auto bins = drawn(until, 5, [&](double t) {
                          const double fell = *std::prev(std::ranges::upper_bound(falls, t));
                          return floor(t) + kGiB * (t - fell) / 500;
                      }).bins();
    const auto found = find_collapse(bins, std::chrono::minutes(20));
    return found ? std::optional(bins[*found].low_at) : std::nullopt;
}

// The fall at 1500 s is too small for a collapse.
TEST(Collapse, IsNoneIfTheNextFallEndsATooth) {
    EXPECT_FALSE(collapse_of({0, 1000, 1500}, 1900));
    EXPECT_FALSE(collapse_of({0, 1000, 1500}, 2400));
}

// The falls after the one at 3000 s are too small for a collapse. A line through their teeth begins above the first of
// them, as if a job had loaded its model.
TEST(Collapse, IsNoneWhereEarlierFallsEndedIfSmallTeethFollow) {
    EXPECT_FALSE(collapse_of({-300, 500, 1000, 1500, 2000, 3000, 3500, 4000, 4500, 5000, 5500}, 5900));
}

// A fall in the first three minutes does not count as a collapse. The samples before it are no part of the next tooth.
TEST(Collapse, IsNoneIfTheSeriesBeginsShortlyBeforeAFall) { EXPECT_FALSE(collapse_of({-2200, 100, 2400}, 4000)); }

TEST(Collapse, IsNoneIfTheSeriesBeginsInTheMiddleOfATooth) {
    EXPECT_FALSE(collapse_of({-1000, 1000}, 2000));
    EXPECT_FALSE(collapse_of({-1000, 1000}, 3000));
    // After a whole tooth, a fall to a much lower level ends the job.
    const auto lower = [](double t) { return kGiB * (t < 4000 ? 6 : 3); };
    EXPECT_TRUE(collapse_of({0, 2000, 4000}, 5500, lower));
}

TEST(Collapse, IsNoneIfALongToothIsNotHigherThanAnEarlierOne) {
    EXPECT_FALSE(collapse_of({0, 3000, 5000}, 7900));
    EXPECT_TRUE(collapse_of({0, 3000, 5000}, 8200));
}

}  // namespace
}  // namespace memscope
