#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/verdict.h"

namespace memscope {

// A judgement as text: the verdict and its explanation, then one line per figure.
std::string verdict_text(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit);

}  // namespace memscope
