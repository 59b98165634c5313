#pragma once
#include "analysis/verdict/verdict.h"

namespace memscope {

// `nullopt` if the floor does not grow and no spike would cross the limit.
std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit);

// The forecast at `now`, when the series is at `held` bytes. A judgement is 10 to 60 s old before the next one is made,
// so its forecast has to be updated in between. A forecast from a rate is updated by the clock and by `held`, so that
// the time left never exceeds headroom / rate. A forecast from steps or spikes is updated by the clock only.
std::optional<Forecast> forecast_at(Judgement judgement, Bytes limit, Seconds now, Bytes held);

}  // namespace memscope
