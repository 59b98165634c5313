#pragma once
#include <string>

#include "base/result.h"
#include "cli/arguments/options.h"

namespace memscope {

struct VerdictAnswer {
    std::string output{};
    bool matched = false;  // --fail-on names the verdict
};

// Judges a recorded series.
Result<VerdictAnswer> judge_file(const VerdictOptions& options);

}  // namespace memscope
