#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"
#include "recording/recording.h"
#include "review/run_summary.h"
#include "web/figures.h"

namespace memscope::web {

// The facts about a run at the top of the page.
struct PageSummary {
    static constexpr std::size_t kMostDeaths = 100;

    std::optional<Judgement> judgement{};
    std::string sentence{};  // the explanation of the verdict; any bytes
    double series_began = 0;
    Bytes peak{};  // of the judged memory
    double peak_time = 0;
    std::optional<Bytes> kernel_peak{};
    std::optional<Bytes> limit{};
    std::string limit_owner{};
    std::vector<std::string> advice{};
    std::vector<Death> deaths{};  // without teardown, oldest first
    std::uint64_t more_deaths = 0;

    void take_peak(double time, Bytes held);
    // A tick of a running job, or the last tick of a recording.
    void take_tick(const Snapshot& snapshot, const TargetSnapshot& target);
};
PageSummary summary_of(const RunSummary& run);

// A span of time that the page marks behind the curve.
struct Phase {
    std::string kind{};  // "warmup", "leak"
    double from = 0;
    double to = 0;
};

// Everything that the page shows of a run, except single ticks, growth and heap censuses. Names come from watched
// processes, so they can contain any bytes.
struct RunState {
    static constexpr std::size_t kMostEvents = 5000;
    static constexpr std::size_t kMostEventBytes = 4096;  // of its text; longer ones are cut

    std::string mode{};  // "live", "recording", "report"
    TargetInfo target{};
    std::string version{};                   // of the memscope that recorded it
    std::optional<std::string> recording{};  // name of the file
    std::optional<std::string> history{};    // why the curve does not begin earlier; a sentence
    double began = 0;                        // seconds since 1970
    double last = 0;                         // time of the last tick
    bool ended = false;
    std::uint64_t ticks = 0;
    std::optional<double> interval{};  // seconds
    PageSummary summary{};
    std::vector<RecordedEvent> events{};  // oldest first
    std::uint64_t events_left_out = 0;    // older ones
    std::vector<double> growth_times{};
    std::vector<double> heap_times{};
    SnapshotPtr last_tick{};
    RunCurves curves{};
    bool complete = true;  // false: older ticks are still read
    bool with_commands = true;

    void add_event(RecordedEvent event);
    const TargetSnapshot* last_target() const { return last_tick ? &last_tick->targets.front() : nullptr; }
};

std::vector<Phase> phases_of(const RunState& run);

// Leaves out everything that can contain arguments of commands: the command lines of processes, and the text of actions
// that memscope ran.
void remove_commands(Snapshot& snapshot);
void remove_commands(std::vector<RecordedEvent>& events);

}  // namespace memscope::web
