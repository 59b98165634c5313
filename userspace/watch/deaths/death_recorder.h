#pragma once
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "analysis/deaths/decide_death.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/deaths/death_lookups.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Joins the record that the BPF program sent at the exit of a process (DeathEvidence) with the process table and the
// kernel log, decides why the process died, and adds the death to all targets that contain the process.
class DeathRecorder {
  public:
    // Called before the process table applies the event, because until then the table knows whether the process is the
    // root of other processes.
    void exited(const Exited& event, const ProcessTable& processes);
    void take(DeathEvidence evidence);
    // True if a process has died since the last tick, and its death is probably not teardown. settle() decides whether
    // it is. Still true after settle() between two ticks, because only a tick shows the death.
    bool has_news() const { return has_news_; }

    struct Surroundings {
        const ProcessTable& processes;  // with the processes that have ended since the last tick
        WatchedTargets& targets;
        const HostMemory& host;  // at the last tick
        Now now{};
        const DeathLookups& lookups;
    };
    // Decides all undecided deaths. Called when all events up to the ends of these processes have been applied to the
    // process table.
    void settle(const Surroundings& around);
    // Once a tick: forgets ended roots of which no living process descends.
    void sweep(const ProcessTable& processes);

  private:
    void read_log(const DeathLookups& lookups, std::uint64_t now_ns);
    const LoggedOomKill* logged(const DeathEvidence& evidence) const;
    void settle_one(const DeathEvidence& evidence, const TrackedProcess* process, const Surroundings& around);
    std::optional<std::uint64_t> root_ending(const DeathEvidence& evidence, const TrackedProcess* process) const;

    struct Line {
        std::uint64_t read_ns = 0;
        LoggedOomKill kill{};
    };
    std::deque<Line> lines_{};  // lines of the kernel log from the last minute
    std::vector<DeathEvidence> undecided_{};
    bool has_news_ = false;
    std::deque<ProcessId> seen_{};  // latest exits: the last two threads of a process may both report its exit
    std::map<ProcessId, std::uint64_t> ending_{};  // roots of process trees: when their end began, boot clock
};

}  // namespace memscope
