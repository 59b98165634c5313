#pragma once
#include "base/result.h"
#include "cli/arguments/options.h"

namespace memscope {

// Shows a recording in the live view, until the user quits.
Status replay_recording(const ReplayOptions& options);

}  // namespace memscope
