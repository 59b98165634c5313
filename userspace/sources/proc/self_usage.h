#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "model/snapshot.h"

namespace memscope {

// The resource usage of the watcher itself. Fills only the fields that come from /proc. The start time, limits and
// number of open files are slow to read, so they are copied from `known` if it is given.
Result<SelfSample> read_self(const SysRoot& root, const std::optional<SelfSample>& known = {});
std::optional<std::uint64_t> parse_max_open_files(std::string_view limits);  // the soft limit, from /proc/PID/limits
std::optional<double> parse_boot_time(std::string_view proc_stat);

}  // namespace memscope
