#pragma once
#include <optional>
#include <string>

#include "analysis/verdict.h"
#include "outputs/json_writer.h"

namespace memscope {

// The fields of a verdict, into an object that is open.
void write_verdict(JsonWriter& json, const Judgement& judgement, const std::optional<Forecast>& forecast,
                   const std::string& explanation);

// A verdict by itself: one object. `began`: the time of the series' first sample.
std::string verdict_json(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit);

}  // namespace memscope
