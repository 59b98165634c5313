#pragma once
#include <string>
#include <variant>

#include "cli/arguments/options.h"
#include "cli/watcher/ask_watcher.h"

namespace memscope {

// Properties of standard output that the answer is rendered for.
struct GrowthDisplay {
    bool terminal = false;
    std::size_t columns = 0;  // 0: not known
};
GrowthDisplay standard_output();

struct GrowthAnswer {
    std::string output{};  // for standard output; any bytes
    std::string note{};    // for standard error: facts that the format cannot contain
};

// Queries the running watchers. Returns the output, or the reason why there is none.
std::variant<GrowthAnswer, AskFailure> ask_growth(const SysRoot& root, const GrowthOptions& options,
                                                  const GrowthDisplay& display);

}  // namespace memscope
