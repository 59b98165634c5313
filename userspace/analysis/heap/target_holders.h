#pragma once
#include <optional>
#include <string>

#include "analysis/heap/holder_sentence.h"
#include "model/snapshot.h"

namespace memscope {

// The process of a target whose containers explain its growth. If the process that grows is known (`grower`), the
// result is that process or a similar worker. Otherwise it is the process whose containers grew most. Its census is
// recent and was compared with an earlier one. Null if there is no such process. `now`: seconds since 1970.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, const std::optional<RoleKey>& role,
                                   const std::optional<Grower>& grower, double now,
                                   HolderMemory memory = HolderMemory::host);

// For the whole target, with the grower of its verdict.
const ProcessHeap* heap_that_grows(const TargetSnapshot& target, double now);

// The sentence about the containers of that process. Empty if there is none.
std::string holders_text(const ProcessHeap* heap, HolderMemory memory = HolderMemory::host);

}  // namespace memscope
