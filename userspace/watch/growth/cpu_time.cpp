#include "watch/growth/cpu_time.h"

#include <string>
#include <unistd.h>

#include "sources/proc/procfs.h"

namespace memscope {

Seconds cpu_time_of(const SysRoot& root, const std::set<pid_t>& processes) {
    constexpr std::size_t kMost = 256;
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    Seconds sum{};
    std::size_t read = 0;
    for (const pid_t pid : processes) {
        if (++read > kMost) break;
        const auto text = read_file(root.proc / std::to_string(pid) / "stat", 4096);
        const auto stat = text ? parse_process_stat(*text) : std::nullopt;
        if (stat) sum += Seconds(static_cast<double>(stat->user + stat->system + stat->children) / ticks_per_second);
    }
    return sum;
}

}  // namespace memscope
