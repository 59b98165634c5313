#include "analysis/returned_tops.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

constexpr Seconds kRemembered = std::chrono::minutes(30);
constexpr std::size_t kMostTops = 32;
constexpr double kCameBack = 0.05;  // of the top: less is noise

bool differ(Bytes low, Bytes high) {
    return static_cast<double>(low.n) < (1 - kCameBack) * static_cast<double>(high.n);
}

}  // namespace

void ReturnedTops::add(Seconds now, Bytes held) {
    while (!tops_.empty() && (now - tops_.front().at > kRemembered || tops_.size() > kMostTops)) tops_.pop_front();
    if (low_) {  // it falls; the next peak begins where it has risen again
        low_ = std::min(*low_, held);
        if (!differ(*low_, held)) return;
        low_.reset();
        peak_.reset();
    }
    if (!peak_ || held > peak_->held) peak_ = Top{now, held};
    if (!differ(held, peak_->held)) return;
    tops_.push_back(*peak_);
    low_ = held;
}

std::optional<Bytes> ReturnedTops::usual() const {
    Bytes highest;
    std::optional<Bytes> second;
    for (const Top& top : tops_) {
        if (top.held > highest)
            second = std::exchange(highest, top.held);
        else
            second = std::max(second.value_or(Bytes{}), top.held);
    }
    return tops_.size() < 2 ? std::nullopt : second;
}

}  // namespace memscope
