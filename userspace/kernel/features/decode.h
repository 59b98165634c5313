#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/deaths/death_evidence.h"
#include "model/growth/range_event.h"
#include "model/growth/stack.h"
#include "model/processes/process.h"
#include "model/processes/tree_event.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// These functions turn records of the BPF programs into model values. Live and recorded bytes use the same functions. A
// malformed record is an error.
Result<TreeEvent> decode_tree_event(std::span<const std::byte> record, std::uint64_t page_size);

// The latest scan. It is reused for the next scan, because most mappings do not change in between.
struct DecodedScan {
    std::vector<ScannedTask> tasks{};
    std::vector<Mappings> mappings{};  // of the tasks, in the same order
};
// `rows` consists of whole ms_task records.
Status decode_tasks(std::span<const std::byte> rows, std::uint64_t page_size, DecodedScan& scan);

Result<DeathEvidence> decode_death(std::span<const std::byte> record, std::uint64_t page_size);

Result<RangeEvent> decode_range_event(std::span<const std::byte> record);

// Records of the ring buffer of stacks. The counts in a record are checked against its size.
Result<RawStack> decode_stack(std::span<const std::byte> record);
Result<GrowthSample> decode_sample(std::span<const std::byte> record, std::uint64_t page_size);
Result<ms_code> decode_code(std::span<const std::byte> record);  // with NUL-terminated texts

}  // namespace memscope
