#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "model/heap/heap.h"
#include "outputs/json/json_writer.h"

namespace memscope {

// Members of a process in the JSON of a heap census: `objects`, `refused`, `types`, `tensors`, `tensor_totals`,
// `arrays`, `holders`. The lists are empty if there is no Python. `type`: only types with this name, and only holders
// of this type.
void write_objects(JsonWriter& json, const ProcessHeap& process, std::size_t top,
                   const std::optional<std::string>& type);

// The summary of a census of Python objects, with its sentence, as an object with this key. Null if there is none.
void write_held(JsonWriter& json, std::string_view key, const std::optional<HeldObjects>& held);

}  // namespace memscope
