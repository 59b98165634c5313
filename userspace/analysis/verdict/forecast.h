#pragma once
#include "analysis/verdict/verdict.h"

namespace memscope {

// Nothing where nothing grows and no spike would cross the limit.
std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit);

// The same at `now`, when the series is at `held`: judgements are made every 10 to 60 s, and time goes on in between.
// A rate is aged by the clock and by what is held, so that the time left is never more than the headroom allows at that
// rate; steps and spikes are aged by the clock.
std::optional<Forecast> forecast_at(Judgement judgement, Bytes limit, Seconds now, Bytes held);

}  // namespace memscope
