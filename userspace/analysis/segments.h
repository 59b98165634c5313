#pragma once
#include <vector>

#include "analysis/floor.h"

namespace memscope {

// A stretch of the floor that one straight line describes.
struct Segment {
    std::size_t from = 0;
    std::size_t to = 0;  // one behind its last point
    double slope = 0;
    double begin = 0;  // the line's height at its first point ...
    double end = 0;    // ... and at its last
};

// The partition into lines that describes the floor best, if each line costs so much that noise is not worth one.
std::vector<Segment> find_segments(const Floor& floor);

}  // namespace memscope
