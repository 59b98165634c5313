#include "cli/launch.h"

#include <unistd.h>

#include "analysis/roles/job_name.h"
#include "watch/targets/own_cgroup.h"
#include "watch/targets/own_command.h"

namespace memscope {

std::variant<int, WatchFailure> launch(const SysRoot& root, WatchOptions options) {
    const auto cannot = [](const Error& error) { return WatchFailure{error, true}; };
    if (::geteuid() != 0) return cannot(plain_error("running a command in a cgroup of its own needs root", "use sudo"));
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return cannot(hierarchy.error());
    const auto identity = command_identity(options.user);
    if (!identity) return cannot(identity.error());
    OwnCgroup::remove_left_behind(*hierarchy, kCommandCgroup);
    auto cgroup = OwnCgroup::make(*hierarchy, kCommandCgroup, options.memory_max);
    if (!cgroup) return cannot(cgroup.error());
    // Forks now, before the watcher starts threads and blocks signals.
    auto command = OwnCommand::prepare(options.command, *identity, *cgroup,
                                       {.file = options.job_output, .to_standard_error = options.json});
    if (!command) return cannot(command.error());
    options.own_cgroup = cgroup->name();
    options.shown = {.name = "cmd:" + job_name(options.command.front(), options.command),
                     .kind = "command",
                     .cgroup_version = hierarchy->version,
                     .pid = command->pid()};
    return watch(root, options, &*command);
}

}  // namespace memscope
