#pragma once
#include "outputs/growth/growth_report.h"
#include "outputs/heap/heap_route.h"
#include "outputs/http/latest_snapshot.h"
#include "recording/recorder.h"
#include "watch/deaths/death_reporter.h"
#include "watch/growth/growth_recorder.h"
#include "watch/heap/heap_recorder.h"

// The functions through which the outputs of a watcher ask its recorders for growth and heap censuses. A recorder of
// growth is null if growth is not recorded; the function is empty then. The recorders must live as long as the
// functions.
namespace memscope {

// Growth of a target at the latest tick. Do not use Wait::yes on the thread of the ticks.
GrowthSource growth_of_latest(GrowthRecorder* recorder, const LatestSnapshot& latest_snapshot, NativeReads::Wait wait);

// Takes censuses of one process, or of the largest ones.
HeapSource heap_on_request(HeapRecorder& recorder);

// Growth at a death. The growth is collected at once, and named when the symbols are loaded.
DeathReporter::GrowthOf growth_at_death(GrowthRecorder* recorder);

// These two run on the thread that writes recordings.
Recorder::GrowthOf growth_to_record(GrowthRecorder* recorder);
Recorder::GrowthOf peak_growth_to_record(GrowthRecorder* recorder);

}  // namespace memscope
