#pragma once
#include <functional>
#include <string_view>

#include "recording/recording.h"

// A recording in the formats of other tools. The text is written in chunks, because it can be larger than memory.
namespace memscope {

using WriteText = std::function<Status(std::string_view)>;

// t_seconds,bytes: the judged series, which `memscope verdict` reads. Ticks at which the target had no process are left
// out, because the series of a job ends with its last process: otherwise the exit would look like a restart.
Status export_csv(Recording& recording, const RecordedTarget& target, const RecordedSpan& span, const WriteText& write);
// One line of JSON per tick, as `memscope --json` prints it.
Status export_json(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                   const WriteText& write);
// A trace for Perfetto: counters of the target, its roles and GPUs, slices of verdicts, precursors and processes, and
// instants of deaths and actions.
Status export_perfetto(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                       const WriteText& write);
// A copy of the whole recording as one file, also while a watcher writes the recording.
Status export_recording_copy(Recording& recording, const WriteText& write);
// OpenMetrics with time stamps, for `promtool tsdb create-blocks-from openmetrics`.
Status export_openmetrics(Recording& recording, const RecordedTarget& target, const RecordedSpan& span,
                          const WriteText& write);

}  // namespace memscope
