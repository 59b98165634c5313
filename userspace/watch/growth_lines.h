#pragma once
#include <vector>

#include "model/growth.h"
#include "watch/growth_book.h"

namespace memscope {

// What has grown at each line, largest first. Native code is named by its file alone: its symbols may take a while to
// load, and a tick does not wait for them.
std::vector<LineGrowth> by_line(const std::vector<BookedGrowth>& booked);

}  // namespace memscope
