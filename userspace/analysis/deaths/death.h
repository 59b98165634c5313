#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/deaths/death.h"
#include "model/deaths/last_words.h"

namespace memscope {

// Who is behind a process that ends others for a living, by its name; empty: nobody known. A container runtime acts for
// whoever made the cgroup, which shows in the target's name. Names can be taken by anybody, so nothing but words for
// people hangs on them.
std::string keeper_of(std::string_view comm, std::string_view target);

// A daemon that kills before the kernel has to. Some ask with SIGTERM first.
bool kills_for_memory(std::string_view comm);

// One that sits in the job's own cgroup and yet is no part of the job.
bool keeps_from_inside(std::string_view comm);

// By the magic number of <linux/magic.h>; the number itself in hexadecimal where it is not known here.
std::string file_system_name(std::uint64_t magic);

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
