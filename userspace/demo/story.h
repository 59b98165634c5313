#pragma once
#include "demo/scenario.h"

namespace memscope {

// What is told before and after, in lines that fit a terminal.
std::string opening(const Scenario& scenario, Seconds length);
std::string closing(const Scenario& scenario, const Observation& seen, Seconds length);

// Breaks at spaces, at most `width` bytes a line where words allow it.
std::string wrapped(std::string_view text, std::size_t width = 80);

}  // namespace memscope
