#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// The text format of Prometheus, version 0.0.4. A metric without values is left out, as are its HELP and TYPE.
std::string render_prometheus(const Snapshot& snapshot);

}  // namespace memscope
