#pragma once
#include <optional>
#include <string>

#include "base/units.h"

namespace memscope::view {

// For columns: at most four characters, for example "0", "312K", "1.9G".
std::string compact_size(Bytes size);
// At most five characters: "+8.0M", "-312K", "0". A change of less than one page per second is noise and shown as "0".
// "-": not known yet.
std::string compact_change(std::optional<double> bytes_per_second);
// Powers of 1000, at most four characters: "7", "1.2k", "35k".
std::string compact_count(std::optional<double> count);

}  // namespace memscope::view
