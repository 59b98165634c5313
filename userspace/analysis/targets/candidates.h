#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/processes/listed_process.h"

namespace memscope {

// A job that could be watched: a process with its descendants.
struct WatchCandidate {
    std::string name{};  // as a target of --pid is named, without "pid:"
    pid_t pid = 0;
    std::size_t processes = 0;
    Bytes memory{};        // the sum of the processes
    std::string cgroup{};  // if it contains this job and nothing else; "": it is to be watched by its pid
    bool trains = false;   // it looks like training: one of its processes is a trainer
};

// The jobs that hold most memory, largest first. Those that look like training, and only without any of them others.
std::vector<WatchCandidate> find_candidates(std::span<const ListedProcess> processes, std::size_t most);

}  // namespace memscope
