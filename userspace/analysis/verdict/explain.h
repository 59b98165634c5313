#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/verdict.h"

namespace memscope {

// What is known beside the curve when it is explained.
struct Circumstances {
    std::optional<Bytes> limit{};         // the one that the judged memory stands against
    std::optional<Forecast> expected{};   // when it is reached, as of now; nothing is foreseen without one
    std::optional<std::string> advice{};  // replaces "look at what is kept" where another cause of a leak is known
};

// One sentence a person can act on, for a series by itself. Times in it count from the first sample, at `began`.
std::string explain(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit = {});
std::string explain(const Judgement& judgement, Seconds began, const Circumstances& known);

}  // namespace memscope
