#pragma once
#include "analysis/verdict.h"

namespace memscope {

// Nothing where nothing grows and no spike would cross the limit.
std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit);

}  // namespace memscope
