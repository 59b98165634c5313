#pragma once
#include <string>

#include "outputs/growth/growth_report.h"

namespace memscope {

struct FoldedGrowth {
    std::string text{};
    std::string note{};  // negative sums, for which the format has no line; empty: there are none
};

// Resident growth as one line per stack, for flame graphs: the role, then frames outermost first with ; between them, a
// space, bytes. Growth without a shown stack gets frames in brackets: [left out], [unattributed].
FoldedGrowth growth_folded(const GrowthReport& report);

}  // namespace memscope
