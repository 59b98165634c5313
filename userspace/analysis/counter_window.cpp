#include "analysis/counter_window.h"

namespace memscope {

void CounterWindow::tell(Seconds now, double total) {
    constexpr double kMostParts = 64;
    if (!told_.empty() && total < told_.back().total) told_.clear();
    if (!told_.empty() && now <= told_.back().time) return;
    // The newest stays exact; those behind it need not be closer than this.
    if (told_.size() >= 2 && now - told_[told_.size() - 2].time < length_ / kMostParts) told_.pop_back();
    told_.push_back({now, total});
    while (told_.size() > 2 && told_[1].time <= now - length_) told_.pop_front();
}

std::optional<double> CounterWindow::rise() const {
    if (told_.size() < 2) return std::nullopt;
    const Told& last = told_.back();
    const Seconds begin = last.time - length_;
    const Told& first = told_.front();
    if (first.time >= begin) return last.total - first.total;
    const Told& next = told_[1];  // behind the beginning, since tell() drops what is not needed
    const double part = (next.time - begin) / (next.time - first.time);
    return last.total - next.total + part * (next.total - first.total);
}

bool CounterWindow::is_full() const { return told_.size() >= 2 && told_.back().time - told_.front().time >= length_; }

}  // namespace memscope
