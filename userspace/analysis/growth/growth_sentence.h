#pragma once
#include <optional>
#include <string>

#include "analysis/growth/owner.h"

namespace memscope {

// In how many of the last minutes a line grew.
struct LineTrend {
    int grew = 0;
    int minutes = 0;
};

// One sentence for the user: which line keeps memory, and how much more than at the beginning of the span. If no line
// is known to keep it, the sentence says what is known instead: the containers of Python that have grown, if censuses
// show them. Names a line only if `ownership` has an owner. Printable.
std::string growth_sentence(const Ownership& ownership, const GrowthSpan& span, const std::optional<LineTrend>& trend);

// "since watching began", "since the end of the warm-up, 9 min ago", "since 10 min ago", "at the peak, since ...".
std::string span_text(const GrowthSpan& span, double now);

}  // namespace memscope
