#pragma once
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "outputs/deaths/action_facts.h"
#include "watch/actions/action_helper.h"
#include "watch/actions/action_queue.h"
#include "watch/watch_options.h"

namespace memscope {

// Runs the user's commands: one when a precursor appears, one when processes die. No function here waits, because a
// helper runs the commands. Commands that the helper cannot run yet wait in a queue. If the queue is full or a rate
// limit is reached, they are dropped and counted.
class Actions {
  public:
    using IsAlive = std::function<bool(ProcessId)>;
    // The path of the recording of a target; empty: there is none.
    using RecordingOf = std::function<std::string(const std::string& target)>;

    // Forks the helper, if there are commands. Call this before the watcher opens files, blocks signals or gives up
    // privileges, because the helper inherits all of that.
    static Result<Actions> start(const WatchOptions& options, IsAlive is_alive);

    void name_recordings(RecordingOf recording_of) { recording_of_ = std::move(recording_of); }

    int fd() const { return socket_.get(); }  // readable when a command has ended; below 0: no helper
    // Runs the command for each precursor that was not there at the last tick that showed its target. `now` is on the
    // boot clock.
    void take_precursors(const Snapshot& snapshot, Seconds now);
    // `unreported`: moments with deaths that the rate limit left out of reports, since watching began.
    void take_deaths(const std::vector<ReportedDeath>& deaths, std::uint64_t unreported, Seconds now);
    // Takes the replies for ended commands, and sends waiting commands to the helper.
    void pump();

    bool idle() const { return queue_.idle(); }
    Seconds patience() const;  // after this time all running commands have ended or were killed
    const ActionTally& tally() const { return tally_; }
    std::vector<std::string> take_lines();     // a line for each command that succeeded since the last call
    std::vector<std::string> take_troubles();  // new errors since the last call

  private:
    Actions(ActionCommands commands, IsAlive is_alive)
        : commands_(std::move(commands)), is_alive_(std::move(is_alive)) {}

    bool wanted(ActionEvent event) const { return !commands_.of(event).empty(); }
    std::string recording_of(const std::string& target) const {
        return recording_of_ ? recording_of_(target) : std::string();
    }
    void offer(PendingAction action, Seconds now);
    void hand_on(PendingAction& action);
    void settle(const ActionReply& reply);
    void helper_ended();
    void fail(ActionEvent event, ActionOutcome outcome, const std::string& reason, std::uint64_t count = 1);

    ActionCommands commands_;
    IsAlive is_alive_;
    RecordingOf recording_of_{};
    Fd socket_{};  // when it is closed, the helper ends its commands and itself
    pid_t helper_ = -1;
    ActionQueue queue_{};
    std::map<std::string, std::set<PrecursorKind>> precursors_{};  // of each target, at the last tick that showed it
    ActionTally tally_{};
    std::uint64_t unreported_ = 0;
    std::array<std::string, std::size(kActionEvents)> said_{};  // last failure; printed only if it changes
    std::vector<std::string> lines_{};
    std::vector<std::string> troubles_{};
};

}  // namespace memscope
