#pragma once
#include <initializer_list>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// A descriptor that these signals arrive at. They are blocked from then on, in this thread and in those it starts.
Result<Fd> open_signals(std::initializer_list<int> signals);

}  // namespace memscope
