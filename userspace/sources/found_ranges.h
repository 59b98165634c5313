#pragma once
#include <vector>

#include "model/range_event.h"
#include "sources/process_maps.h"

namespace memscope {

// What /proc/PID/maps says of each range, in the words of the map of ranges. The stack that the kernel made, and what
// else it put there itself, is no mapping of the program's.
std::vector<FoundRange> found_ranges(const ProcessMaps& maps);

}  // namespace memscope
