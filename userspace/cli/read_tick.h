#pragma once
#include "cli/json_fields.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

// The part `gpu` of a tick out of its JSON, into the snapshot and its target.
void read_gpu(const JsonFields& gpu, Snapshot& snapshot, TargetSnapshot& target);

// A tick out of its JSON, as far as people are shown it again: one target. What is absent there is absent here.
Snapshot read_tick(const JsonFields& tick);

RoleKey read_role(const JsonFields& fields);

// What `memscope growth --format json` prints.
Growth read_growth(const JsonFields& growth);

}  // namespace memscope
