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
    std::vector<PythonFrame> first_look{};  // as the kernel's copies alone tell it
};

// Does what the kernel side does, by the same offsets: finds the thread, walks its frames and copies their code objects
// as far as a record has room. What was cut off is completed as the collector does it.
WalkedStack walk(const ProcessMemory& memory, const ms_python& layout, pid_t own_tid);

}  // namespace memscope
