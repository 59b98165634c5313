#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// A job that could be watched: a process with its descendants.
struct WatchCandidate {
    std::string name{};  // the target name that --pid would give it, without "pid:"
    pid_t pid = 0;
    std::size_t processes = 0;
    Bytes memory{};        // the sum of the processes
    std::string cgroup{};  // contains this job and nothing else; "": none does, watch the job by its pid
    bool trains = false;   // it looks like training: one of its processes is a trainer
};

// The jobs that hold most memory, largest first. Returns only jobs that look like training. If there are none, returns
// other jobs.
std::vector<WatchCandidate> find_candidates(std::span<const ListedProcess> processes, std::size_t most);

}  // namespace memscope
