#include "kernel/session.h"

#include <unistd.h>

namespace memscope {

Result<Session> Session::start(const Plan& plan, bool memory_on_v1) {
    capture_libbpf_messages();
    SignalSettings settings{.memory_on_v1 = memory_on_v1, .watcher_pid = static_cast<unsigned>(::getpid())};
    auto tree = TreeSignal::start(plan, settings);
    if (!tree) return tree.error();
    settings.targets_map = tree->targets_map();
    auto tasks = TasksSignal::start(plan, settings);
    if (!tasks) return tasks.error();

    std::vector<Probe> probes;
    for (const Choice& choice : plan)
        probes.push_back({std::string(choice.signal) + "_" + std::string(choice.hook), !choice.program.empty()});
    return Session(std::move(*tree), std::move(*tasks), std::move(probes));
}

Losses Session::losses() const {
    Losses sum = tree_.losses();
    for (const auto& [reason, count] : tasks_.losses()) sum[reason] += count;
    return sum;
}

}  // namespace memscope
