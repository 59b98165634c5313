#pragma once
#include "demo/scenario.h"

namespace memscope {

// What is told before and after, in lines that fit a terminal.
std::string opening(const Scenario& scenario, Seconds length);
std::string closing(const Scenario& scenario, const Observation& seen, Seconds length);

}  // namespace memscope
