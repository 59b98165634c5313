#include "demo/curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace memscope {
namespace {

double not_negative(Seconds t) { return std::max(t.count(), 0.0); }

Bytes times(Bytes size, double factor) {
    return {static_cast<std::uint64_t>(std::llround(static_cast<double>(size.n) * factor))};
}

}  // namespace

Curve constant(Bytes level) {
    return [=](Seconds) { return level; };
}

Curve warming_up(Bytes from, Bytes to, Seconds over) {
    return [=](Seconds t) {
        const double left = 1 - std::min(not_negative(t) / over.count(), 1.0);
        return from + times(to - from, 1 - left * left);
    };
}

Curve leaking(Bytes per_second, Seconds after) {
    return [=](Seconds t) { return times(per_second, not_negative(t - after)); };
}

Curve spiking(Bytes floor, Bytes height, Seconds period, Seconds width) {
    return [=](Seconds t) {
        const bool up = std::fmod(not_negative(t), period.count()) >= (period - width).count();
        return up ? floor + height : floor;
    };
}

Curve stepping(Bytes floor, Bytes step, Seconds period) {
    return [=](Seconds t) { return floor + times(step, std::floor(not_negative(t) / period.count())); };
}

Curve operator+(Curve a, Curve b) {
    return [a = std::move(a), b = std::move(b)](Seconds t) { return a(t) + b(t); };
}

}  // namespace memscope
