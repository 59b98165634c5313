#pragma once
#include <string>

#include "outputs/growth/growth_report.h"

namespace memscope {

// One line of JSON without a newline at its end, always valid UTF-8.
std::string growth_json(const GrowthReport& report);

}  // namespace memscope
