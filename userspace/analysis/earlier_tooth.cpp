#include "analysis/earlier_tooth.h"

#include <algorithm>

#include "analysis/zigzag.h"

namespace memscope {
namespace {

constexpr double kAlike = 0.6;        // of the rise: what counts as given back
constexpr double kHigher = 0.5;       // of the fall: so much higher than the tooth may it go
constexpr double kLonger = 1.5;       // times the tooth, or the budget
constexpr double kSteeper = 2;        // times, either way
constexpr double kUncertain = 0.1;    // of the rise: how well its beginning is known
constexpr double kMeasurable = 0.25;  // of the rise: a ramp that is shorter has no slope worth a comparison

struct Tooth {
    Turn bottom{};  // or where the series began
    Turn top{};
    Turn after{};
};

// Where a series begins with a fall no turn tells of its top.
Turn highest_between(std::span<const Bin> bins, double from, double to) {
    Turn top{from, 0};
    for (const Bin& bin : bins)
        if (bin.high_at >= from && bin.high_at <= to && bin.high > top.bytes) top = {bin.high_at, bin.high};
    return top;
}

bool is_alike(const Tooth& tooth, const Rise& rise, double level, double budget) {
    const double fall = tooth.top.bytes - tooth.after.bytes;
    const double length = tooth.top.at - tooth.bottom.at;
    if (fall < kAlike * rise.bytes || level > tooth.top.bytes + kHigher * fall) return false;
    if (rise.length > kLonger * std::max(length, budget)) return false;
    if (length < kMeasurable * rise.length) return true;
    const double slope = (tooth.top.bytes - tooth.bottom.bytes) / length;
    return slope > rise.slope / kSteeper && slope < rise.slope * kSteeper;
}

}  // namespace

bool is_like_an_earlier_tooth(std::span<const Bin> bins, const Rise& rise, double budget) {
    if (bins.empty() || rise.stairs) return false;
    const Turns turns = find_turns(bins, kAlike * rise.bytes);
    const double within = rise.began + kUncertain * rise.length;
    if (std::ranges::any_of(turns.highs, [&](const Turn& high) { return high.at > within; })) return false;
    Turn bottom{bins.front().low_at, bins.front().low};
    for (const Turn& low : turns.lows) {
        if (is_alike({bottom, highest_between(bins, bottom.at, low.at), low}, rise, bins.back().low, budget))
            return true;
        bottom = low;
    }
    return false;
}

}  // namespace memscope
