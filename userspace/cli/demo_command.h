#pragma once
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace memscope {

// Runs a small process tree like that of a training job in a cgroup of its own, and watches it live. Its verdict is
// known in advance. `seconds`: the value of --scenario-seconds, as typed. Returns the exit status.
Result<int> run_demo(const SysRoot& root, const std::string& scenario, const std::optional<std::string>& seconds);

}  // namespace memscope
