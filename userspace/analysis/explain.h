#pragma once
#include <optional>
#include <string>

#include "analysis/forecast.h"
#include "analysis/verdict.h"

namespace memscope {

// One sentence a person can act on, for a series by itself. Times in it count from the first sample, at `began`.
std::string explain(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit = {});
// The same with a forecast of that limit that was made elsewhere, later than the judgement; nothing is foreseen without
// one.
std::string explain(const Judgement& judgement, Seconds began, Bytes limit, const std::optional<Forecast>& expected);

}  // namespace memscope
