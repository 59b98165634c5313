#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace memscope {

// The event for which a command of the user is run.
enum class ActionEvent { precursor, death };
inline constexpr ActionEvent kActionEvents[] = {ActionEvent::precursor, ActionEvent::death};
std::string_view name_of(ActionEvent event);

// The outcome of a command. Failed: its exit status was not 0, a signal killed it, or it could not be started. Dropped:
// it was not run, because there were too many commands or because the process that runs them was gone.
enum class ActionOutcome { ok, failed, timeout, dropped };
inline constexpr ActionOutcome kActionOutcomes[] = {ActionOutcome::ok, ActionOutcome::failed, ActionOutcome::timeout,
                                                    ActionOutcome::dropped};
std::string_view name_of(ActionOutcome outcome);

// Number of commands by event and outcome since watching began.
class ActionTally {
  public:
    void add(ActionEvent event, ActionOutcome outcome, std::uint64_t count = 1);
    std::uint64_t of(ActionEvent event, ActionOutcome outcome) const;
    bool operator==(const ActionTally&) const = default;

  private:
    std::array<std::array<std::uint64_t, std::size(kActionOutcomes)>, std::size(kActionEvents)> counts_{};
};

}  // namespace memscope
