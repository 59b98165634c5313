#pragma once
#include <optional>
#include <string_view>

#include "model/death.h"
#include "model/last_words.h"

namespace memscope {

// What is known beside a process's own last words, as seen from one target.
struct DeathScene {
    std::string_view target{};    // its name: whose cgroup it is shows in it
    bool sender_in_tree = false;  // who sent the signal that ended it belongs to the target
    // Since when the root of its tree has been ending, on the boot clock; none: it lives, or is the one that died.
    std::optional<std::uint64_t> root_ending_ns{};
    const LoggedOomKill* logged = nullptr;  // where the kernel log has a line on it
    bool host_short = false;                // the machine itself has next to no memory left
    std::optional<AddressSpace> memory{};   // of the process, at its last reading
};

// Why the process ended; nothing where it just exited. Times, roles, paths of cgroups and mounts are left to who has
// them, and so is the explanation.
std::optional<Death> decide_death(const LastWords& words, const DeathScene& scene);

// The signal that ended it as it was sent, if that was seen.
const SentSignal* deadly_signal(const LastWords& words);

}  // namespace memscope
