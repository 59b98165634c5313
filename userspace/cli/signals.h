#pragma once
#include <initializer_list>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// Returns a signalfd for these signals. Blocks the signals in this thread and in the threads that it starts later.
Result<Fd> open_signals(std::initializer_list<int> signals);

}  // namespace memscope
