#pragma once
#include <vector>

#include "model/growth/growth.h"

namespace memscope {

// True for code that the user of a job did not write: Python's own library, installed packages, and code that a library
// generated. It is the only definition, because the verdict and the growth table must name the same line.
bool is_library(const PythonFrame& frame);

// Merges sites of the same role with the same frames. Two native frames with the same function name are equal, whatever
// their offsets. Largest first; sites without growth are left out.
std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites);

// For output by line: merges sites with the same Python frames and keeps the native frames of the largest one.
std::vector<GrowthSite> merged_by_line(std::vector<GrowthSite> sites);

// The most useful frame for the user: the innermost one of the user's own code, so that a line of that code is named
// and not a line of the library that it calls. The innermost of all if all are in libraries; null if there is none.
const PythonFrame* telling_frame(const std::vector<PythonFrame>& frames);

}  // namespace memscope
