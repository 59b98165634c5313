#pragma once
#include <cstddef>
#include <span>

#include "base/result.h"
#include "model/range_event.h"

namespace memscope {

// Bytes of the wire into a model value; anything malformed is an error.
Result<RangeEvent> decode_range_event(std::span<const std::byte> record);

}  // namespace memscope
