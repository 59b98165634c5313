#pragma once
#include <string>

namespace memscope {

// docs/metrics.md, from the metric table. A unit test fails when the file differs; running it with
// MEMSCOPE_UPDATE_DOCS=1 writes the file.
std::string render_metrics_page();

}  // namespace memscope
