#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/deaths/death.h"
#include "model/deaths/death_evidence.h"

namespace memscope {

// The name of a process manager (container runtime, systemd, Slurm, oomd) that kills processes as part of its job, from
// the name of its process; empty if it is none. A container runtime acts for the program that created the cgroup, which
// shows in the target's name. A process can choose any name, so the result is used only in messages, never in
// decisions.
std::string process_manager_of(std::string_view comm, std::string_view target);

// True for a daemon that kills before the kernel's OOM killer has to. Some send SIGTERM first.
bool kills_for_memory(std::string_view comm);

// True for a process manager that runs inside the job's cgroup without being part of the job.
bool is_manager_inside(std::string_view comm);

// The name of a file system from its magic number in <linux/magic.h>; the number in hexadecimal if it is not known.
std::string file_system_name(std::uint64_t magic);

// Facts about a death that DeathEvidence does not have, as seen from one target.
struct DeathScene {
    std::string_view target{};    // its name, which shows the owner of the cgroup
    bool sender_in_tree = false;  // the sender of the fatal signal belongs to the target
    // When the root of its process tree began to exit, on the boot clock. None: the root still runs, or the root is the
    // process that died.
    std::optional<std::uint64_t> root_ending_ns{};
    const LoggedOomKill* logged = nullptr;  // set if the kernel log has a line about this OOM kill
    bool host_short = false;                // the machine itself has almost no memory left
    std::optional<AddressSpace> memory{};   // of the process, when it was last read
};

// Decides why the process ended. None for a normal exit, and for a signal with which users end a job, such as SIGTERM.
// The caller fills in times, roles, paths of cgroups and mounts, and the explanation.
std::optional<Death> decide_death(const DeathEvidence& evidence, const DeathScene& scene);

// The fatal signal with its sender. Null if memscope did not see the signal being sent.
const SentSignal* deadly_signal(const DeathEvidence& evidence);

}  // namespace memscope
