#pragma once
#include "model/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// As people and scripts see it. The joined command is kept with the process.
Process shown(TrackedProcess& tracked, const Now& now);

}  // namespace memscope
