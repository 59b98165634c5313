#pragma once
#include <functional>

#include "base/units.h"

namespace memscope {

// How much memory is wanted at a time of the scenario's clock. Before 0 it is as at 0.
using Curve = std::function<Bytes(Seconds)>;

constexpr Bytes mebibytes(std::uint64_t n) { return {n << 20}; }

Curve constant(Bytes level);
// Fast first, then slower and slower; exactly `to` from `over` on.
Curve warming_up(Bytes from, Bytes to, Seconds over);
// Nothing until `after`, then that much more every second, without end.
Curve leaking(Bytes per_second, Seconds after);
// The floor, and `height` above it in the last `width` of each period.
Curve spiking(Bytes floor, Bytes height, Seconds period, Seconds width);
// One step more at the end of each period, for good.
Curve stepping(Bytes floor, Bytes step, Seconds period);

Curve operator+(Curve a, Curve b);

}  // namespace memscope
