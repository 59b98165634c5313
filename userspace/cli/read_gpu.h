#pragma once
#include "cli/json_fields.h"
#include "model/snapshot.h"

namespace memscope {

// The part `gpu` of a tick out of its JSON, into the snapshot and its target.
void read_gpu(const JsonFields& gpu, Snapshot& snapshot, TargetSnapshot& target);

}  // namespace memscope
