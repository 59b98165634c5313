#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/deaths/death_report.h"
#include "model/growth/growth.h"
#include "recording/recording.h"

namespace memscope {

// A recorded run: everything that a report about the run shows. Outputs only render it. Sizes are judged memory, unless
// a comment says otherwise. Names come from watched processes: any bytes.
struct RunSummary {
    struct Top {
        Bytes bytes{};
        double time = 0;  // seconds since 1970
    };
    struct Part {
        Bytes peak{};  // of its own memory
        std::uint64_t most_processes = 0;
    };
    struct GpuPart {
        Bytes peak{};
        std::optional<unsigned> index{};       // on the host
        std::map<std::string, Bytes> roles{};  // the highest use of each role
    };
    struct ActivePrecursor {
        double since = 0;
        std::optional<double> until{};  // none: it was active at the end
        std::string kind{};
        std::string reason{};
    };

    std::string target{};
    std::string version{};  // of the memscope that recorded it
    double began = 0;       // seconds since 1970
    Seconds length{};
    std::uint64_t ticks = 0;

    Top peak{};                          // the highest value at a tick
    std::optional<Bytes> kernel_peak{};  // the kernel's high-water mark, page cache included
    // When it was reached: the first tick that shows it. None: before the recording began.
    std::optional<double> kernel_peak_time{};
    std::optional<Bytes> limit{};  // the nearest limit at the last tick with processes
    std::string limit_owner{};

    // The phases: up to the end of the warm-up, and after it. None: no warm-up has ended.
    std::optional<double> warmup_ended{};  // seconds since 1970
    std::optional<Top> warmup_peak{};      // the highest value up to then
    std::optional<Top> plateau_peak{};     // the highest value after it

    // At the last tick at which the target had processes: after their exit the series begins anew.
    std::optional<Judgement> judgement{};
    std::string explanation{};
    // True: that tick was too early for a verdict, because its processes had just started, or because only few
    // processes had survived a death. Judgement and explanation are then those before the last death.
    bool judged_before_death = false;
    // That tick, with the last heap censuses of the run: processes may have exited before it.
    Snapshot last{};
    double census_time = 0;  // of the tick with these censuses; seconds since 1970

    std::uint64_t most_processes = 0;
    std::map<std::string, Part> roles{};  // "trainer 0"
    std::map<GpuId, GpuPart> gpus{};      // those that the target has used

    std::vector<RecordedEvent> events{};
    std::vector<ActivePrecursor> precursors{};
    std::vector<std::string> actions{};   // commands that memscope ran, and those that failed
    std::vector<Death> deaths{};          // deaths that are no teardown, oldest first; at most 100
    std::uint64_t more_deaths = 0;        // deaths that are not in `deaths`
    std::vector<HeldPoint> series{};      // the highest tick of each of at most 240 equal parts of the run
    std::optional<Growth> growth{};       // at the end, since the end of the warm-up if one has ended
    std::optional<Growth> peak_growth{};  // at the peak, since watching began
    std::vector<std::string> advice{};    // sentences, the most useful first
    // What was known at the last death: its report, or the tick before it if no report was recorded. The advice is
    // about this death.
    std::optional<DeathReport> last_death{};
    std::vector<WholeCensus> censuses{};  // the last one with Python objects of each process, largest first; at most 16

    std::vector<const RecordedEvent*> events_of(std::string_view kind) const;
    const TargetSnapshot* last_target() const { return last.targets.empty() ? nullptr : &last.targets.front(); }
    // The process whose Python containers are shown: the process that grows, or else the process with most bytes of
    // Python objects. Null: there is none.
    const ProcessHeap* holders() const;
};

// `observe` is called for each tick, so that a caller that needs the ticks does not have to read them again. It returns
// false to end the reading, which is an error.
using ObserveTick = std::function<bool(const RecordedSample&, const Snapshot&)>;
Result<RunSummary> summarize(Recording& recording, const RecordedTarget& target, const RecordedSpan& span = {},
                             const ObserveTick& observe = {});

}  // namespace memscope
