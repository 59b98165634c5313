#pragma once
#include "base/fd.h"

namespace memscope {

// Used by processes that are forked from the watcher and do not execute another program.

// Closes all file descriptors except the standard ones and `kept`, and moves `kept` to descriptor 3. Ends the process
// if that fails.
Fd close_other_descriptors(Fd kept);

}  // namespace memscope
