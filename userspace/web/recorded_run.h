#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/heap/heap.h"
#include "recording/recording.h"
#include "web/run_state.h"

namespace memscope::web {

// Reads a recording for the page: first an outline, then all ticks, which takes seconds, and single moments when the
// page needs them.
class RecordedRun {
  public:
    // Opens the file twice: once to be read in the background, once for single moments. Nothing is opened later, so
    // privileges can be dropped after it. `target`: none if the recording has only one.
    static Result<RecordedRun> open(const fs::path& path, const std::optional<std::string>& target);

    const RecordedTarget& target() const { return target_; }
    const fs::path& path() const { return recording_->path(); }
    double began() const { return recording_->began(); }  // seconds since 1970; times of bins are relative to this
    // Time of the last recorded tick, seconds since 1970; none: it has no tick.
    Result<std::optional<double>> last_time() const;

    // Reads the judged memory of each tick before `until`, the events and the last tick. Sets all members of `run` that
    // are about the past.
    Status read_outline(RunState& run, double until) const;
    // Reads all other figures of these ticks. `take` gets the figures of some hundred ticks at a time. If it returns
    // false, the reading ends, and read_ticks() returns an error.
    Result<RunSummary> read_ticks(double until, const std::function<bool(const std::vector<Figures>&)>& take) const;
    // The lowest and highest values of ticks that the watcher has removed from the recording.
    Result<std::map<std::string, std::vector<RecordedBin>>> bins() const;

    // From any thread. The last tick, growth or heap censuses at or before a time; none: there are none.
    Result<std::optional<Snapshot>> tick(double time) const;
    Result<std::optional<Growth>> growth(double time) const;
    Result<std::vector<ProcessHeap>> heap(double time) const;
    Result<std::vector<double>> tick_times() const;
    Result<std::vector<double>> growth_times() const;
    Result<std::vector<double>> heap_times() const;

  private:
    RecordedRun(Recording whole, Recording single, RecordedTarget target);

    std::unique_ptr<Recording> recording_;  // for the thread that reads all ticks
    std::unique_ptr<Recording> single_;
    std::unique_ptr<std::mutex> mutex_;  // guards `single_`
    RecordedTarget target_;
};

}  // namespace memscope::web
