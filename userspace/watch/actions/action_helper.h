#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "model/deaths/action.h"
#include "watch/targets/own_command.h"

namespace memscope {

// What may be run, fixed when watching starts.
struct ActionCommands {
    std::array<std::vector<std::string>, std::size(kActionEvents)> words{};  // by event; empty: nothing is run for it
    Seconds timeout{30};
    std::optional<Identity> identity{};  // none: as we are
    bool silent = false;                 // the terminal belongs to somebody else

    const std::vector<std::string>& of(ActionEvent event) const { return words[static_cast<std::size_t>(event)]; }
};

// A process that runs them for a watcher which may no longer. To be called in a child that was forked while the watcher
// had its privileges and nothing else. It ends with the watcher, and so does what it runs.
[[noreturn]] void be_action_helper(Fd socket, const ActionCommands& commands, pid_t watcher);

}  // namespace memscope
