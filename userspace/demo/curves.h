#pragma once
#include <functional>

#include "base/units.h"

namespace memscope {

// The memory to hold at a time of the scenario's clock. Times before 0 count as 0.
using Curve = std::function<Bytes(Seconds)>;

constexpr Bytes mebibytes(std::uint64_t n) { return {n << 20}; }

Curve constant(Bytes level);
// Grows fast at first, then slower and slower. Exactly `to` from the time `over` on.
Curve warming_up(Bytes from, Bytes to, Seconds over);
// 0 until the time `after`, then grows by `per_second` without end.
Curve leaking(Bytes per_second, Seconds after);
// The floor, plus `height` during the last `width` of each period.
Curve spiking(Bytes floor, Bytes height, Seconds period, Seconds width);
// One more step at the end of each period, never given back.
Curve stepping(Bytes floor, Bytes step, Seconds period);

Curve operator+(Curve a, Curve b);

}  // namespace memscope
