#pragma once
#include <string>

#include "base/units.h"
#include "demo/observation.h"

namespace memscope {

// The answer of a run as a picture: the memory of the job over time below its limit, with the kills. If the job leaked,
// also: which process leaks, since when, which line and which containers keep the memory, and when the limit would be
// reached. Contains only what memscope measured.
std::string picture(const Observation& seen, Bytes limit, std::size_t width);

}  // namespace memscope
