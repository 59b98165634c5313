#pragma once
#include <string>

#include "outputs/growth/growth_report.h"

namespace memscope {

struct FoldedGrowth {
    std::string text{};
    std::string note{};  // what has no line, since a line can only add; empty: nothing
};

// Resident growth as one line per stack, for flame graphs: the role, then frames outermost first with ; between them, a
// space, bytes. What is at no shown stack has frames in brackets.
FoldedGrowth growth_folded(const GrowthReport& report);

}  // namespace memscope
