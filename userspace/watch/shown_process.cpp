#include "watch/shown_process.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr std::size_t kMostCommandBytes = 512;

std::shared_ptr<const std::string> joined_command(const std::vector<std::string>& argv) {
    std::string command;
    for (const std::string& argument : argv) {
        if (!command.empty()) command += ' ';
        command += argument;
        if (command.size() >= kMostCommandBytes) break;
    }
    command.resize(std::min(command.size(), kMostCommandBytes));
    return std::make_shared<const std::string>(std::move(command));
}

}  // namespace

Process shown(TrackedProcess& tracked, const Now& now) {
    if (!tracked.command) tracked.command = joined_command(tracked.argv);
    return {.task = tracked.task,
            .role = tracked.role.role,
            .rank = tracked.role.rank,
            .folded_rank = tracked.folded_rank,
            .slot = tracked.slot,
            .start_time = now.to_unix(tracked.task.id.start_ns),
            .command = tracked.command};
}

}  // namespace memscope
