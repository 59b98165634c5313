#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/token_bucket.h"
#include "model/processes/process.h"
#include "watch/actions/action_wire.h"

namespace memscope {

// A command that waits to be run or runs.
struct PendingAction {
    ActionRequest request{};
    std::string target{};
    std::string what{};                   // for messages: "near_limit, python3 (pid 12)"
    std::optional<ProcessId> concerns{};  // the process that must still live when the command is run
    std::vector<ProcessId> trainers{};
};

// The commands that wait or run. Bounds how many commands run at a time and how many wait, and limits the rate of new
// commands.
class ActionQueue {
  public:
    static constexpr std::size_t kMostAtOnce = 4;
    static constexpr std::size_t kMostWaiting = 16;

    // False: a rate limit or kMostWaiting is reached. `now` is on the boot clock.
    bool offer(PendingAction action, Seconds now);
    // The next command to run. It counts as running until end() is called for it.
    std::optional<PendingAction> next();
    // The command has ended. Returns it; `nullopt` if no running command has this id.
    std::optional<PendingAction> end(std::uint32_t id);
    // The helper has ended. Removes and returns all commands.
    std::vector<PendingAction> give_up();
    void forget_others_than(const std::set<std::string>& targets);

    bool idle() const { return waiting_.empty() && running_.empty(); }

  private:
    std::deque<PendingAction> waiting_{};
    std::map<std::uint32_t, PendingAction> running_{};
    std::map<std::string, TokenBucket> of_target_{};
    TokenBucket of_all_{40, std::chrono::seconds(5)};
    std::uint32_t last_id_ = 0;
};

}  // namespace memscope
