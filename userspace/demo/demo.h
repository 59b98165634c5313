#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "demo/demo_python.h"
#include "demo/scenario.h"

namespace memscope {

// The scenario with a higher limit if the interpreter is larger than usual: a PyTorch for GPUs needs several hundred
// MiB before it computes anything.
Scenario with_room_for(Scenario scenario, const std::optional<DemoPython>& python);

// The texts before and after the demo, wrapped for a terminal. `python`: nullopt if native processes simulate the job.
std::string opening(const Scenario& scenario, Seconds length, const std::optional<DemoPython>& python);
// `recording`: the file of the recording; empty if there is none.
std::string closing(const Scenario& scenario, const Observation& seen, Seconds length, const std::string& recording);

struct Performance {
    Seconds length = kScenarioLength;                    // real time; the scenario's clock is scaled to it
    std::string record{};                                // directory or file of the recording; empty: none is made
    std::function<Status(std::string_view text)> say{};  // standard output
};

// Runs a scenario in a cgroup of its own and watches it live. Returns the exit status of the watcher.
Result<int> perform(const SysRoot& root, const Scenario& scenario, const Performance& performance);

}  // namespace memscope
