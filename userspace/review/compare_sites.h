#pragma once
#include <vector>

#include "review/compare.h"

// The parts of a comparison that name code.
namespace memscope {

double median(std::vector<double> values);
double spread_of(const std::vector<double>& values);  // 0 for one value

// Sets `sites`, `sites_at_peak` and `sentence`, which needs the values of the result.
void compare_sites(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head, Comparison& result);
// Sets `holders`.
void compare_holders(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head, Comparison& result);

}  // namespace memscope
