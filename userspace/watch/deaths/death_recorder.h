#pragma once
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "analysis/deaths/death.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/deaths/death_lookups.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Joins the last words of processes with everything else that is known of them, decides why each process died, and adds
// the death to all targets around it.
class DeathRecorder {
  public:
    // Before the process table applies the event: the table knows whether the process is the root of other processes.
    void exited(const Exited& event, const ProcessTable& processes);
    void take(LastWords words);
    bool any_undecided() const { return !undecided_.empty(); }
    // An undecided death is probably no teardown. Whether it is teardown is known once it is decided.
    bool has_news() const { return has_news_; }

    struct Surroundings {
        const ProcessTable& processes;  // with the processes that have ended since the last tick
        WatchedTargets& targets;
        const HostMemory& host;  // at the last tick
        Now now{};
        const DeathLookups& lookups;
    };
    // Decides all deaths that are undecided. All events up to their ends have been applied to the process table.
    void settle(const Surroundings& around);
    // Once a tick: forgets ended roots of which no living process descends.
    void sweep(const ProcessTable& processes);

  private:
    void read_log(const DeathLookups& lookups, std::uint64_t now_ns);
    const LoggedOomKill* logged(const LastWords& words) const;
    void settle_one(const LastWords& words, const TrackedProcess* process, const Surroundings& around);
    std::optional<std::uint64_t> root_ending(const LastWords& words, const TrackedProcess* process) const;

    struct Line {
        std::uint64_t read_ns = 0;
        LoggedOomKill kill{};
    };
    std::deque<Line> lines_{};  // of the kernel log, of the last minute
    std::vector<LastWords> undecided_{};
    bool has_news_ = false;
    std::deque<ProcessId> seen_{};  // the latest: each of the last two threads may report the process's end
    std::map<ProcessId, std::uint64_t> ending_{};  // roots of process trees: since when they end, boot clock
};

}  // namespace memscope
