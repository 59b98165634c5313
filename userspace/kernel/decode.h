#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "model/process.h"
#include "model/tree_event.h"

namespace memscope {

// Bytes of the wire into model values. Live and recorded bytes enter here alike; anything malformed is an error.
Result<TreeEvent> decode_tree_event(std::span<const std::byte> record, std::uint64_t page_size);
// `rows` holds whole ms_task records.
Result<std::vector<TaskSample>> decode_tasks(std::span<const std::byte> rows, std::uint64_t page_size);

}  // namespace memscope
