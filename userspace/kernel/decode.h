#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/process.h"
#include "model/tree_event.h"

namespace memscope {

// Bytes of the wire into model values. Live and recorded bytes enter here alike; anything malformed is an error.
Result<TreeEvent> decode_tree_event(std::span<const std::byte> record, std::uint64_t page_size);

// The latest scan. Kept from one to the next: most mappings have not changed since and stay as they are.
struct DecodedScan {
    std::vector<ScannedTask> tasks{};
    std::vector<Mappings> mappings{};  // the tasks', in their order
};
// `rows` holds whole ms_task records.
Status decode_tasks(std::span<const std::byte> rows, std::uint64_t page_size, DecodedScan& scan);

}  // namespace memscope
