#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace memscope {

// The part of a path after its last slash.
std::string_view base_name(std::string_view path);

// The name by which a user knows a job: its script or module, else its program. Interpreters, launchers and commands
// that are put before another one (`nice`, `numactl`, `uv run`) are skipped: `nice -n 5 torchrun train.py` is
// "train.py". `comm` is the name where argv is not known. At most 64 bytes, any bytes but '/'.
std::string job_name(std::string_view comm, const std::vector<std::string>& argv);

}  // namespace memscope
