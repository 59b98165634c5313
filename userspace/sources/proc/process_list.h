#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

struct ProcessList {
    std::vector<ListedProcess> processes{};  // without kernel threads
    std::size_t unreadable = 0;              // processes that exist, but could not be read
    bool complete = true;                    // false: some processes are not listed
};

// Reads the processes of the machine without privileges. The caller passes `read_argv`, which reads the command line of
// a process, because a process can block this read. It is called only for processes with memory of their own.
using ReadArgv = std::function<std::vector<std::string>(ProcessId)>;
ProcessList list_processes(const SysRoot& root, int cgroup_version, const ReadArgv& read_argv,
                           std::size_t most = 32768);

// RssAnon, RssShmem and VmSwap of /proc/PID/status. None for a kernel thread, which has no memory of its own.
std::optional<Bytes> parse_own_memory(std::string_view status);

}  // namespace memscope
