#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/deaths/last_words.h"
#include "model/growth/range_event.h"
#include "model/growth/stack.h"
#include "model/processes/process.h"
#include "model/processes/tree_event.h"
#include <memscope/shared/stacks.h>

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

// Bytes of the wire into a model value; anything malformed is an error.
Result<LastWords> decode_death(std::span<const std::byte> record, std::uint64_t page_size);

// Bytes of the wire into a model value; anything malformed is an error.
Result<RangeEvent> decode_range_event(std::span<const std::byte> record);

// Records of the ring of stacks. Counts that a record claims are checked against what it can hold.
Result<RawStack> decode_stack(std::span<const std::byte> record);
Result<ms_code> decode_code(std::span<const std::byte> record);  // its texts are terminated

}  // namespace memscope
