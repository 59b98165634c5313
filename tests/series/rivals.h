#pragma once
#include <span>

#include "series/score.h"

namespace memscope::made {

// What people do instead. They know two words: leaking and stable.
struct Rival {
    const char* name;
    Answer (*says)(const Labelled&);
};
std::span<const Rival> rivals();

}  // namespace memscope::made
