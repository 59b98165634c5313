#include "analysis/judge.h"

#include <algorithm>

namespace memscope {

void Judge::add(Seconds time, Bytes bytes) {
    series_.add(time, bytes);
    const double length = series_.length();
    if (length < next_) return;
    judgement_ = judge(series_, settings_);
    const double budget = settings_.warmup.count();
    next_ = length + std::clamp(length / 64, budget / 120, budget / 20);
}

Judgement Judge::now() const { return judge(series_, settings_); }

}  // namespace memscope
