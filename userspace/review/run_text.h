#pragma once
#include <string>

#include "review/run_summary.h"

namespace memscope {

// A recorded run as a page of text.
std::string run_text(const RunSummary& run, bool colour);
std::string run_json(const RunSummary& run);

// "2026-11-15 03:40:10", local time.
std::string clock_text(double unix_seconds);

}  // namespace memscope
