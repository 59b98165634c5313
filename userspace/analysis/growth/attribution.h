#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/growth/growth.h"

namespace memscope {

// True for code that the user of a job did not write: Python's own library, installed packages, and code that a library
// generated. It is the only definition, because the verdict and the growth table must name the same line.
bool is_library(const PythonFrame& frame);

// Merges sites of the same role with the same frames. Two native frames with the same function name are equal. Their
// offsets do not count. Largest first; sites without growth are left out.
std::vector<GrowthSite> merged_sites(std::vector<GrowthSite> sites);

// Growth of a role at one own line: the sum of all stacks with the same own frame.
struct OwnLine {
    GrowthSite site{};       // bytes and pids of all these stacks; the frames of the largest one
    std::size_t stacks = 1;  // number of these stacks
};
// Largest first; lines without growth are left out. Stacks without Python frames are not merged, because it is not
// known that they have a line of the user in common.
std::vector<OwnLine> own_lines(std::vector<GrowthSite> sites);

// Saturating addition, because growth in report files is untrusted input and could overflow.
std::int64_t add_bytes(std::int64_t a, std::int64_t b);

// The most useful frame for the user: the innermost one of the user's own code, so that a line of that code is named
// and not a line of the library that it calls. The innermost of all if all are in libraries; null if there is none.
const PythonFrame* own_frame(const std::vector<PythonFrame>& frames);

}  // namespace memscope
