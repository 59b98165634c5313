#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "model/growth/growth.h"
#include "sources/proc/process_memory.h"
#include "sources/python/python_code.h"
#include <memscope/shared/stacks.h>

namespace memscope {

struct WalkedStack {
    std::vector<PythonFrame> frames{};      // innermost first
    std::vector<PythonFrame> first_look{};  // from the copies of the BPF programs alone
};

// Works like the BPF programs, with the same offsets: finds the thread, walks its frames and copies their code objects
// as far as a record has room. Then completes code objects that were cut off, like the collector.
WalkedStack walk(const ProcessMemory& memory, const ms_python& layout, pid_t own_tid);

}  // namespace memscope
