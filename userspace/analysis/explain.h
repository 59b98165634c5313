#pragma once
#include <optional>
#include <string>

#include "analysis/forecast.h"
#include "analysis/verdict.h"

namespace memscope {

// One sentence a person can act on, for a series by itself. Times in it count from the first sample, at `began`.
// `advice` replaces what a leak is usually explained by (what a program keeps) where another cause of it is known.
std::string explain(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit = {},
                    const std::optional<std::string>& advice = {});

}  // namespace memscope
