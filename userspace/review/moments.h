#pragma once
#include "recording/recording.h"

namespace memscope {

// The place in a recording of a moment of the wall clock (seconds since 1970). The clock may have been set while the
// recording was written: a moment that it showed twice is the later one, a moment that it skipped is the tick after it.
Result<Seconds> place_of(Recording& recording, const RecordedTarget& target, double moment);

}  // namespace memscope
