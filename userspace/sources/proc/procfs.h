#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

struct ProcessDetails {
    std::vector<std::string> argv{};  // any bytes; empty for kernel threads
    std::optional<int> rank{};
    auto fields() { return std::tie(argv, rank); }
};

// The directory of the process in /proc. The descriptor refers to this process even after its pid is reused. An error
// if the process has exited.
Result<Fd> open_process(const SysRoot& root, ProcessId id);

// None if the process has exited, or if another process has its pid now.
std::optional<ProcessDetails> read_details(const SysRoot& root, ProcessId id);

std::vector<std::string> parse_argv(std::string_view nul_separated);  // reads at most 4 KiB and 64 arguments
// The first of RANK, LOCAL_RANK and SLURM_PROCID that holds a number from 0 to 999999.
std::optional<int> parse_rank(std::string_view environ);

// The fields of /proc/PID/stat that memscope uses. Times are in clock ticks; `start` counts from boot.
struct ProcessStat {
    pid_t parent = 0;
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    std::uint64_t children = 0;  // user and system time of the children that it has waited for
    std::uint64_t threads = 0;
    std::uint64_t start = 0;
    std::uint64_t virtual_size = 0;  // bytes
    char state = '?';
    bool exiting = false;
    bool forked = false;  // it has executed no program since its fork
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// True if the process has begun to exit and has not finished. The kernel needs a while to free the memory of a large
// process.
bool is_ending(const SysRoot& root, ProcessId id);
// The id of the process that has this pid now. Reads only `stat`, because no process can block that read.
std::optional<ProcessId> process_with(const SysRoot& root, pid_t pid);

// CPU time of these processes and of their ended children since their start. Reads at most 256 of them.
Seconds cpu_time_of(const SysRoot& root, const std::set<pid_t>& processes);

}  // namespace memscope
