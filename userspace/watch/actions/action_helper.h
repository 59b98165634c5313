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

// The commands that the helper may run. They are fixed when watching starts.
struct ActionCommands {
    std::array<std::vector<std::string>, std::size(kActionEvents)> words{};  // by event; empty: no command
    Seconds timeout{30};
    std::optional<Identity> identity{};  // none: the user of the watcher
    bool silent = false;                 // no output: the live view or a command uses the terminal

    const std::vector<std::string>& of(ActionEvent event) const { return words[static_cast<std::size_t>(event)]; }
};

// Runs commands for a watcher that has given up the privileges for it. Call this in a child that was forked while the
// watcher still had its privileges and had opened nothing. The helper and its commands end with the watcher.
[[noreturn]] void be_action_helper(Fd socket, const ActionCommands& commands, pid_t watcher);

}  // namespace memscope
