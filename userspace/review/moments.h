#pragma once
#include "recording/recording.h"

namespace memscope {

// The position in a recording of a time of the wall clock (seconds since 1970). The clock may have been set while the
// recording was written. If the clock showed the time twice, the result is the later position. If the clock skipped the
// time, the result is the next tick.
Result<Seconds> place_of(Recording& recording, const RecordedTarget& target, double moment);

}  // namespace memscope
