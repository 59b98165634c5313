#pragma once
#include "base/fd.h"

namespace memscope {

// For a process that was forked from the watcher and does not execute another program.

// Closes everything but the standard descriptors and `kept`, which is descriptor 3 afterwards. Ends the process if that
// fails.
Fd close_other_descriptors(Fd kept);

}  // namespace memscope
