#pragma once
#include <string>
#include <variant>

#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// What an answer looks like on the standard output there is.
struct GrowthDisplay {
    bool terminal = false;
    std::size_t columns = 0;  // 0: not known
};
GrowthDisplay standard_output();

struct GrowthAnswer {
    std::string output{};  // for standard output; any bytes
    std::string note{};    // for standard error: what the format has no place for
};

// Asks the running watchers; what to print, or why there is nothing.
std::variant<GrowthAnswer, AskFailure> ask_growth(const SysRoot& root, const GrowthOptions& options,
                                                  const GrowthDisplay& display);

}  // namespace memscope
