#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "model/snapshot.h"

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

// The resource usage of the watcher itself. Fills only the fields that come from /proc. The start time, limits and
// number of open files are slow to read, so they are copied from `known` if it is given.
Result<SelfSample> read_self(const SysRoot& root, const std::optional<SelfSample>& known = {});
std::optional<std::uint64_t> parse_max_open_files(std::string_view limits);  // the soft limit, from /proc/PID/limits
std::optional<double> parse_boot_time(std::string_view proc_stat);

}  // namespace memscope
