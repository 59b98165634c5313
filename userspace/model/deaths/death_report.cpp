#include "model/deaths/death_report.h"

#include <cmath>

namespace memscope {

void HeldHistory::to_bins(const HeldPoint& point) {
    const auto bin_of = [](const HeldPoint& each) { return std::floor(each.time / kBinWidth); };
    if (bins_.empty() || bin_of(bins_.back()) != bin_of(point))
        bins_.push_back(point);
    else if (point.held >= bins_.back().held)
        bins_.back() = point;
}

void HeldHistory::add(const HeldPoint& point) {
    if (!fine_.empty() && point.time < fine_.back().time) *this = {};
    fine_.push_back(point);
    if (fine_.size() > kFine) {
        to_bins(fine_.front());
        fine_.pop_front();
    }
    while (!bins_.empty() && (point.time - bins_.front().time > kSpan || bins_.size() > kBins)) bins_.pop_front();
    while (fine_.size() > 1 && point.time - fine_.front().time > kSpan) fine_.pop_front();
}

std::vector<HeldPoint> HeldHistory::points() const {
    std::vector<HeldPoint> all(bins_.begin(), bins_.end());
    all.insert(all.end(), fine_.begin(), fine_.end());
    return all;
}

}  // namespace memscope
