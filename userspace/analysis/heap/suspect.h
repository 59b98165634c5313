#pragma once
#include <optional>

#include "analysis/heap/holder_sentence.h"
#include "model/series.h"
#include "model/snapshot.h"

namespace memscope {

// The container that is suspected to leak, before there is a verdict about the scope: it has gained items for 30 s and
// at 5 looks at least, has given none back, still gains, and adds at least 1 MiB and 10 % of the growth of the scope in
// that time. None if there is no such container, or if the verdict is known. `grown`: the memory of the scope.
// `to_wall`: added to times of `grown` to get seconds since 1970. `now`: seconds since 1970.
std::optional<Suspect> suspected_holder(const TargetSnapshot& target, const ScopeVerdict& verdict, const Series& grown,
                                        Seconds to_wall, double now, HolderMemory memory = HolderMemory::host);

// True while a container may be suspected: the verdict is `insufficient` or `warming_up`.
bool is_too_early(Verdict verdict);

}  // namespace memscope
