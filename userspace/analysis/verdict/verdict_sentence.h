#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/verdict.h"

namespace memscope {

// Facts that the explanation uses in addition to the judgement of the curve.
struct Circumstances {
    std::optional<Bytes> limit{};         // the limit that applies to the judged memory
    std::optional<Forecast> expected{};   // when the limit is reached, as of now; without it the text has no forecast
    std::optional<std::string> advice{};  // replaces "find the objects that the job keeps …" if another cause is known
};

// One sentence for the user, with advice, about a single series. Times in it count from the first sample, at `began`.
std::string verdict_sentence(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit = {});
std::string verdict_sentence(const Judgement& judgement, Seconds began, const Circumstances& known);

}  // namespace memscope
