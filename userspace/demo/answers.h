#pragma once
#include "demo/observation.h"
#include "demo/scenario.h"

namespace memscope {

// Figures of a series of sizes (Line). All functions accept an empty line. It has no size, no rise and no steps.
Bytes first_of(const Line& line);
Bytes last_of(const Line& line);
Bytes lowest_of(const Line& line);
Bytes highest_of(const Line& line);
Bytes risen(const Line& line);  // from the first to the last; 0 if it fell
Bytes swing(const Line& line);  // from the lowest to the highest
Seconds length_of(const Line& line);
Line later_part(const Line& line, double share);  // the points of the last `share` (0 to 1) of its time
double bytes_per_second(const Line& line);        // from the first to the last
// The time from which on the line stays within `tolerance` of its last size.
Seconds settled_at(const Line& line, Bytes tolerance);

// Periods in which the line is above its floor. The floor is the lowest size.
struct Excursions {
    std::size_t count = 0;
    Bytes height{};    // of the highest period above the floor
    Seconds period{};  // mean time between two begins; 0 for fewer than two periods
};
Excursions excursions(const Line& line, Bytes at_least);

// Rises that are not given back. A rise that is spread over several samples counts as one.
struct Steps {
    std::size_t count = 0;
    Bytes size{};      // mean
    Seconds period{};  // mean; 0 for fewer than two
};
Steps steps(const Line& line, Bytes at_least);

// The answer of a scenario from the figures of its run. One function for each scenario.
Answer leak_answer(const Observation& seen);
Answer warmup_answer(const Observation& seen);
Answer spikes_answer(const Observation& seen);
Answer steps_answer(const Observation& seen);
Answer workers_answer(const Observation& seen);
Answer wrapper_answer(const Observation& seen);
Answer fragmentation_answer(const Observation& seen);
Answer crashloop_answer(const Observation& seen);

}  // namespace memscope
