#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "model/processes/listed_process.h"

namespace memscope {

struct ProcessList {
    std::vector<ListedProcess> processes{};  // without kernel threads
    std::size_t unreadable = 0;              // processes that are there and could not be read
    bool complete = true;                    // false: there are more than are listed
};

// Reads the processes of the machine without privileges. `read_argv` reads the command line, because that can block: a
// process can hold its readers up. It is called only for processes with memory of their own.
using ReadArgv = std::function<std::vector<std::string>(ProcessId)>;
ProcessList list_processes(const SysRoot& root, int cgroup_version, const ReadArgv& read_argv,
                           std::size_t most = 32768);

// RssAnon, RssShmem and VmSwap of /proc/PID/status. None for a kernel thread, which has no memory of its own.
std::optional<Bytes> parse_own_memory(std::string_view status);

}  // namespace memscope
