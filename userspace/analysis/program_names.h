#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace memscope {

// What a process may be said to run: the base name of argv[0], and behind an interpreter the base name of its script
// or the name of its module. `python3 /venv/bin/torchrun train.py` is "python3" and "torchrun", and
// `python -m torch.distributed.run` is "python" and "torch.distributed.run". Where argv is not known (it can be
// unreadable, or empty) the process name has to do.
std::vector<std::string_view> program_names(std::string_view comm, const std::vector<std::string>& argv);

}  // namespace memscope
