#pragma once
#include "model/snapshot.h"

namespace memscope {

// Marks the last values of a target as those of one that has ended: nothing announces an end that has come, and nothing
// is foreseen for processes that are gone.
void end_target(TargetSnapshot& target);

}  // namespace memscope
