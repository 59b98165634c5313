#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/types.h>

#include "base/result.h"
#include "sources/process_memory.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// The id of the process in its own PID namespace, from /proc/PID/status: what its own getpid() says.
std::optional<pid_t> parse_own_pid(std::string_view status);

// The first thread of the first interpreter; 0 while there is none yet.
Result<std::uint64_t> first_python_thread(const ProcessMemory& memory, const ms_python& layout);

// 3.10 keeps of a thread what pthread_self() said: an address, where the C library has the kernel's thread id
// somewhere. That place, from the thread whose id is known; nothing if no thread of Python is the main one.
std::optional<std::uint16_t> find_pthread_tid(const ProcessMemory& memory, const ms_python& layout,
                                              std::uint64_t first_thread, pid_t main_tid);

}  // namespace memscope
