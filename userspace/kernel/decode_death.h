#pragma once
#include <cstddef>
#include <span>

#include "base/result.h"
#include "model/last_words.h"

namespace memscope {

// Bytes of the wire into a model value; anything malformed is an error.
Result<LastWords> decode_death(std::span<const std::byte> record, std::uint64_t page_size);

}  // namespace memscope
