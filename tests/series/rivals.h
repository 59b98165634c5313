#pragma once
#include <span>

#include "series/score.h"

namespace memscope::made {

// Simple detectors that people use instead of memscope, for comparison. They only know `leaking` and `stable`.
struct Rival {
    const char* name;
    Answer (*says)(const Labelled&);
};
std::span<const Rival> rivals();

}  // namespace memscope::made
