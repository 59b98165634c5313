#pragma once
#include <optional>
#include <string>

#include "analysis/verdict/verdict.h"

namespace memscope {

// A verdict for people: the word and its sentence, then the figures behind it, a line each.
std::string verdict_text(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit);

}  // namespace memscope
