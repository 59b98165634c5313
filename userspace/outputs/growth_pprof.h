#pragma once
#include <string>

#include "outputs/growth_report.h"

namespace memscope {

// A gzipped profile for `pprof` and what reads its format: sample types resident and mapped, in bytes. A site that is
// in both planes is one sample with both values.
std::string growth_pprof(const GrowthReport& report);

}  // namespace memscope
