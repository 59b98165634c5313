#pragma once
#include "outputs/growth/growth_report.h"

namespace memscope::test {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

// A training job that keeps its losses, maps its buffers, and has workers that decode images.
GrowthReport grown();

// Names that contain separators, escape sequences and bytes that are not UTF-8.
GrowthReport hostile_growth();

// Each site at a line of its own.
GrowthReport many_sites(int count);

}  // namespace memscope::test
