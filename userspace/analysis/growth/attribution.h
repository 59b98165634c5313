#pragma once
#include <vector>

#include "model/growth/growth.h"

namespace memscope {

// True for code that the user of a job did not write: Python's own library, installed packages, and code that a library
// generated. The only definition of it: the verdict and the growth table must name the same line.
bool is_library(const PythonFrame& frame);

// Sites of the same role with the same frames become one: a native frame that has a name is the same wherever in its
// function it stands. Largest first; what has come to nothing is left out.
std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites);

// For people, who ask for the line: those with the same Python frames are one, with the native frames of the largest.
std::vector<GrowthSite> merged_by_line(std::vector<GrowthSite> sites);

// The frame that tells people most: the innermost of their own code, so that a line of theirs is named and not one in
// the library it calls. The innermost of all where all are in libraries, null where there is none.
const PythonFrame* telling_frame(const std::vector<PythonFrame>& frames);

}  // namespace memscope
