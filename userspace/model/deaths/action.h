#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace memscope {

// What a command of the user's is run for.
enum class ActionEvent { precursor, death };
inline constexpr ActionEvent kActionEvents[] = {ActionEvent::precursor, ActionEvent::death};
std::string_view name_of(ActionEvent event);

// What became of it. Failed: it ended with another status than 0, by a signal, or could not be started. Dropped: it was
// never run, because there were too many or nobody was left to run it.
enum class ActionOutcome { ok, failed, timeout, dropped };
inline constexpr ActionOutcome kActionOutcomes[] = {ActionOutcome::ok, ActionOutcome::failed, ActionOutcome::timeout,
                                                    ActionOutcome::dropped};
std::string_view name_of(ActionOutcome outcome);

// All of them since watching began.
class ActionTally {
  public:
    void add(ActionEvent event, ActionOutcome outcome, std::uint64_t count = 1);
    std::uint64_t of(ActionEvent event, ActionOutcome outcome) const;
    bool operator==(const ActionTally&) const = default;

  private:
    std::array<std::array<std::uint64_t, std::size(kActionOutcomes)>, std::size(kActionEvents)> counts_{};
};

}  // namespace memscope
