#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Its directory, which names this process for ever, whoever gets the pid next. An error when it is gone.
Result<Fd> open_process(const SysRoot& root, ProcessId id);

// Nothing when the process is gone or another one has its pid now.
std::optional<ProcessDetails> read_details(const SysRoot& root, ProcessId id);

std::vector<std::string> parse_argv(std::string_view nul_separated);  // at most 4 KiB and 64 arguments of it
// RANK, else LOCAL_RANK, else SLURM_PROCID: the first of them that holds a number from 0 to 999999.
std::optional<int> parse_rank(std::string_view environ);

// What we use of /proc/PID/stat. The times are in clock ticks, `start` counts from boot.
struct ProcessStat {
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    std::uint64_t children = 0;  // both of those that it has waited for
    std::uint64_t threads = 0;
    std::uint64_t start = 0;
    std::uint64_t virtual_size = 0;  // bytes
    char state = '?';
    bool exiting = false;
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// It has begun to end and has not ended yet: to give back the memory of a large process takes the kernel a while.
bool is_ending(const SysRoot& root, ProcessId id);

// What the watcher itself uses; the other fields of the sample are not of /proc.
// When it was started, its limits and open files are slow to find out: they are taken from `known` if there is one.
Result<SelfSample> read_self(const SysRoot& root, const std::optional<SelfSample>& known = {});
std::optional<std::uint64_t> parse_max_open_files(std::string_view limits);  // the soft one of /proc/PID/limits
std::optional<double> parse_boot_time(std::string_view proc_stat);

}  // namespace memscope
