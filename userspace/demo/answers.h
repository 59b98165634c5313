#pragma once
#include "demo/scenario.h"

namespace memscope {

// What the numbers of a run say; one for each scenario.
Answer leak_answer(const Observation& seen);
Answer warmup_answer(const Observation& seen);
Answer spikes_answer(const Observation& seen);
Answer steps_answer(const Observation& seen);
Answer workers_answer(const Observation& seen);
Answer wrapper_answer(const Observation& seen);

}  // namespace memscope
