#pragma once
#include <string>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// A process of the machine, as any user can see it in /proc, before it is watched.
struct ListedProcess {
    ProcessId id{};
    pid_t parent = 0;
    std::string comm{};               // any bytes
    std::vector<std::string> argv{};  // empty: not known
    bool forked_without_exec = false;
    Bytes memory{};        // anonymous memory, shared memory and swap; pages that processes share count in each of them
    std::string cgroup{};  // in the hierarchy of the memory controller, without slashes around it; "" is the root
};

}  // namespace memscope
