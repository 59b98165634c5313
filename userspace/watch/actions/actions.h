#pragma once
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "outputs/deaths/action_facts.h"
#include "watch/actions/action_helper.h"
#include "watch/actions/action_queue.h"
#include "watch/watch_options.h"

namespace memscope {

// Runs the user's commands: one when a precursor comes to stand, one when processes die. Nothing here waits: a helper
// runs them, and what cannot be handed to it is kept for a while, or dropped and counted.
class Actions {
  public:
    using IsAlive = std::function<bool(ProcessId)>;

    // Forks the helper, if there is anything to run: to be called before anything is opened, blocked or given up.
    static Result<Actions> start(const WatchOptions& options, IsAlive is_alive);

    int fd() const { return socket_.get(); }  // readable when one has ended; below 0: there is no helper
    // `before` is null at the first tick. `now` is on the boot clock.
    void take_precursors(const Snapshot* before, const Snapshot& snapshot, Seconds now);
    // `unreported`: events of which nothing was told because there were too many, since watching began.
    void take_deaths(const std::vector<ReportedDeath>& deaths, std::uint64_t unreported, Seconds now);
    // Notes what has ended and hands on what waits.
    void pump();

    bool idle() const { return queue_.idle(); }
    Seconds patience() const;  // in which all that runs has ended, one way or another
    const ActionTally& tally() const { return tally_; }
    std::vector<std::string> take_lines();     // what is worth saying since the last call: what was done,
    std::vector<std::string> take_troubles();  // and what went wrong

  private:
    Actions(ActionCommands commands, IsAlive is_alive)
        : commands_(std::move(commands)), is_alive_(std::move(is_alive)) {}

    bool wanted(ActionEvent event) const { return !commands_.of(event).empty(); }
    void offer(PendingAction action, Seconds now);
    void hand_on(PendingAction& action);
    void settle(const ActionReply& reply);
    void helper_ended();
    void fail(ActionEvent event, ActionOutcome outcome, const std::string& reason, std::uint64_t count = 1);

    ActionCommands commands_;
    IsAlive is_alive_;
    Fd socket_{};  // when it is closed the helper ends, and what it runs a moment later
    pid_t helper_ = -1;
    ActionQueue queue_{};
    ActionTally tally_{};
    std::uint64_t unreported_ = 0;
    std::array<std::string, std::size(kActionEvents)> said_{};  // the last reason for a failure: said once
    std::vector<std::string> lines_{};
    std::vector<std::string> troubles_{};
};

}  // namespace memscope
