#pragma once
#include <optional>

#include "model/heap/heap.h"

namespace memscope {

// The summary of a census of Python objects, with changes since an earlier census of the same process (`earlier`; null:
// there is none). None if the census has no objects.
std::optional<HeldObjects> held_objects(const HeapCensus& now, const HeapCensus* earlier);

}  // namespace memscope
