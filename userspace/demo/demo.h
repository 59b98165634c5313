#pragma once
#include <functional>
#include <string_view>

#include "base/files.h"
#include "demo/scenario.h"

namespace memscope {

// The texts before and after the demo, wrapped for a terminal.
std::string opening(const Scenario& scenario, Seconds length, bool with_python = false);
std::string closing(const Scenario& scenario, const Observation& seen, Seconds length);

struct Performance {
    Seconds length = kScenarioLength;                    // real time; the scenario's clock is scaled to it
    std::function<Status(std::string_view text)> say{};  // standard output
};

// Runs a scenario in a cgroup of its own and watches it live. Returns the exit status of the watcher.
Result<int> perform(const SysRoot& root, const Scenario& scenario, const Performance& performance);

}  // namespace memscope
