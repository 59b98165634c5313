#pragma once
#include <optional>

#include "model/heap/heap.h"

namespace memscope {

// The summary of a census of Python objects, with changes since an earlier census of the same process (`earlier`; null:
// there is none). `between`: the census before this one, if that is not `earlier`; it tells the growth of what
// `earlier` does not have. None if the census has no objects.
std::optional<HeldObjects> held_objects(const HeapCensus& now, const HeapCensus* earlier,
                                        const HeapCensus* between = nullptr);

}  // namespace memscope
