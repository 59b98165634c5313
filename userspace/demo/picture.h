#pragma once
#include <string>

#include "base/units.h"
#include "demo/observation.h"

namespace memscope {

// The answer of a run as a picture: what the job held over time below its limit, with the kills, and if it leaked: what
// leaks, since when, at which line, what holds it, and when the limit would have been full. Only what memscope
// measured.
std::string picture(const Observation& seen, Bytes limit, std::size_t width);

}  // namespace memscope
