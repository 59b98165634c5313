#pragma once
#include <string>
#include <vector>

namespace memscope {

// Runs the command of the arguments and returns the exit status: 0 success, 1 failure while running, 2 wrong usage or a
// machine that lacks something, 3 if --fail-on names the verdict.
int run(const std::vector<std::string>& arguments);

}  // namespace memscope
