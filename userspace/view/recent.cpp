#include "view/recent.h"

namespace memscope::view {
namespace {

constexpr double kWindow = 10;  // seconds a rate is taken over
constexpr double kStep = 2;     // seconds between the points that are kept

}  // namespace

void Recent::add(double time, Bytes own, std::uint64_t faults) {
    if (!points_.empty() && time == points_.back().time) return;          // the same tick again
    if (!points_.empty() && time < points_.back().time) points_.clear();  // the clock was set back
    const Point now{time, own.n, faults};
    if (points_.size() >= 2 && points_.back().time - points_[points_.size() - 2].time < kStep)
        points_.back() = now;
    else
        points_.push_back(now);
    while (points_.size() > 2 && time - points_[1].time >= kWindow) points_.erase(points_.begin());
}

Rates Recent::rates() const {
    if (points_.size() < 2) return {};
    const Point& then = points_.front();
    const Point& now = points_.back();
    const double dt = now.time - then.time;
    Rates rates{.own = (static_cast<double>(now.own) - static_cast<double>(then.own)) / dt};
    if (now.faults >= then.faults) rates.faults = static_cast<double>(now.faults - then.faults) / dt;
    return rates;
}

}  // namespace memscope::view
