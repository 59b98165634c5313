#pragma once
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace memscope {

// A small training-shaped process tree with a known answer, watched live in a cgroup of its own. The exit status.
Result<int> run_demo(const SysRoot& root, const std::string& scenario);

}  // namespace memscope
