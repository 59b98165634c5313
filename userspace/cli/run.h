#pragma once
#include <string>
#include <vector>

namespace memscope {

// The program: does what the arguments say and returns the exit status.
// 0 fine, 1 runtime failure, 2 usage or this machine cannot.
int run(const std::vector<std::string>& arguments);

}  // namespace memscope
