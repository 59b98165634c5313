#pragma once
#include <optional>
#include <string>

#include "analysis/heap/holder_sentence.h"
#include "model/snapshot.h"

namespace memscope {

// The process of a target whose containers explain its growth. If the process that grows is known (`grower`), it is
// that process, or a worker that is like it. Otherwise it is the one whose containers grew most. Its census is recent
// and has a difference to an earlier one. Null if there is none. `now`: seconds since 1970.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, const std::optional<RoleKey>& role,
                                   const std::optional<Grower>& grower, double now,
                                   HolderMemory memory = HolderMemory::host);

// The same for the whole target, with the grower of its verdict.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, double now);

// The sentence about its containers. Empty if there is none.
std::string holders_text(const ProcessHeap* heap, HolderMemory memory = HolderMemory::host);

}  // namespace memscope
