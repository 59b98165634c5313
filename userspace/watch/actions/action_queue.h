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

// A command that is to be run.
struct PendingAction {
    ActionRequest request{};
    std::string target{};
    std::string what{};                   // for people: "near_limit, python3 (pid 12)"
    std::optional<ProcessId> concerns{};  // who must still be there when it is run
    std::vector<ProcessId> trainers{};
};

// Which commands wait and which run: few at a time, a bounded number in all, and of a storm only some.
class ActionQueue {
  public:
    static constexpr std::size_t kMostAtOnce = 4;
    static constexpr std::size_t kMostWaiting = 16;

    // False: there are too many. `now` is on the boot clock.
    bool offer(PendingAction action, Seconds now);
    // The next one that may be run now, whose place is taken from here on.
    std::optional<PendingAction> next();
    // It has ended; what it was, if it was one of ours.
    std::optional<PendingAction> end(std::uint32_t id);
    // Nobody is left to run them.
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
