#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "model/heap/heap.h"

namespace memscope {

// The Python objects of a census as tables: holders, tensors, arrays, types, each with changes if there is an earlier
// census. Empty if the objects were not read. `type`: only holders of this type.
std::string objects_text(const ProcessHeap& process, std::size_t top, const std::optional<std::string>& type,
                         std::size_t columns);

// The answer in one sentence: which container has grown or holds most. If the objects could not be read: the reason.
// Empty if the objects were not asked for, or if there is no Python.
std::string objects_sentence(const ProcessHeap& process);

// One container in two lines: its path, then its type, length and sizes. `changes`: with columns for changes.
std::string holder_head(bool changes, bool device, std::size_t columns);
std::string holder_rows(const Holder& holder, const std::optional<std::int64_t>& length_change,
                        const std::optional<std::int64_t>& bytes_change, bool changes, bool device,
                        std::size_t columns);

}  // namespace memscope
