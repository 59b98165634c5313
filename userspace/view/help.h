#pragma once
#include <vector>

#include "view/line.h"

namespace memscope::view {

std::vector<Line> help_lines();

}  // namespace memscope::view
