#pragma once
#include <string_view>

namespace memscope {

// The text of a file of userspace/demo/jobs. Empty: there is no such file.
std::string_view job_file(std::string_view name);

}  // namespace memscope
