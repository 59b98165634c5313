#include "model/deaths/action.h"

namespace memscope {

std::string_view name_of(ActionEvent event) { return event == ActionEvent::precursor ? "precursor" : "death"; }

std::string_view name_of(ActionOutcome outcome) {
    switch (outcome) {
        case ActionOutcome::ok:
            return "ok";
        case ActionOutcome::failed:
            return "failed";
        case ActionOutcome::timeout:
            return "timeout";
        case ActionOutcome::dropped:
            return "dropped";
    }
    return "";
}

void ActionTally::add(ActionEvent event, ActionOutcome outcome, std::uint64_t count) {
    counts_[static_cast<std::size_t>(event)][static_cast<std::size_t>(outcome)] += count;
}

std::uint64_t ActionTally::of(ActionEvent event, ActionOutcome outcome) const {
    return counts_[static_cast<std::size_t>(event)][static_cast<std::size_t>(outcome)];
}

}  // namespace memscope
