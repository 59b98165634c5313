#pragma once
#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace memscope {

// Runs a small process tree like that of a training job, whose verdict is known, in a cgroup of its own and watches it
// live. `seconds`: its length, as --scenario-seconds says it. Returns the exit status.
Result<int> run_demo(const SysRoot& root, const std::string& scenario, const std::optional<std::string>& seconds);

}  // namespace memscope
