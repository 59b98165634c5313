#pragma once
#include <string>

#include "web/run_state.h"

// The JSON between the program and the page. docs/web.md describes it.
namespace memscope::web {

std::string run_json(const RunState& run);
// `width`: number of bins.
std::string curves_json(const RunState& run, double from, double to, std::size_t width);
// {"error":"..."}
std::string error_json(std::string_view sentence);

// Answers /api/live: ticks and events after a time.
std::string live_json(const RunState& run, const std::vector<Figures>& ticks, double after);

}  // namespace memscope::web
