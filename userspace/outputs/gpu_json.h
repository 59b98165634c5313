#pragma once
#include "model/snapshot.h"
#include "outputs/json_writer.h"

namespace memscope {

// The key `gpu` of a tick: the devices of the machine, and what the target holds of them by role and by process. Null
// where there is no device and nothing is held.
void write_gpu(JsonWriter& json, const Snapshot& snapshot, const TargetSnapshot& target);

}  // namespace memscope
