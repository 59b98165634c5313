#pragma once
#include <optional>

#include "analysis/verdict.h"

namespace memscope {

// When a limit is reached if all goes on as it does. Times count from the last sample that was judged.
struct Forecast {
    // What the time rests on: a leak's rate, a warm-up's rate, or the next of the recurring spikes.
    enum class Basis { leak, warmup, spike };

    Seconds eta{};
    Seconds earliest{};
    std::optional<Seconds> latest{};  // none: it may as well never come
    Basis basis = Basis::leak;
};
std::string_view word(Forecast::Basis basis);

// Nothing where nothing grows and no spike would cross the limit.
std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit);

}  // namespace memscope
