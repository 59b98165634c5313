#pragma once
#include <vector>

#include "model/growth/growth.h"
#include "model/snapshot.h"
#include "view/history.h"
#include "view/line.h"
#include "view/state.h"

namespace memscope::view {

// A line for each GPU, first those on which the target holds memory. If there are more GPUs than rows, the last line
// counts the others.
std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows);

// What the target holds over time, with axes, its own limit and the deaths. Empty if there is too little room or time.
std::vector<Line> curve_panel(const TargetSnapshot& target, const History& history, std::size_t width,
                              std::size_t rows);

// The sentence, then the own lines of each role that grew most in one plane: five of each role, or more while they fit
// into `rows`. `now`: seconds since 1970. Lines may be too long; the screen cuts them. Null: growth is not recorded.
std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, double now, std::size_t width,
                               std::size_t rows = 0);

// The containers of Python that grew or hold most, for each process that has a census of objects. Null: no target.
std::vector<Line> holders_panel(const TargetSnapshot& target, double now, std::size_t width);

std::vector<Line> help_lines(bool replay);

// The parts of the screen around the tree. Lines may be too long; the screen cuts them.

// Deaths that the user has not confirmed: the newest in full, the others counted. The last row names the key that
// confirms them.
std::vector<Line> death_panel(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows);

// `rows` targets around the selected one, each with its bar.
std::vector<Line> target_list(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows);

Line title_line(const Snapshot& snapshot, const TargetSnapshot& target, const History& history, const State& state,
                std::size_t width);
Line limit_line(const MemoryState& memory, std::size_t width);  // the bar against the effective limit
Line headroom_line(const MemoryState& memory, std::size_t width);
Line kinds_bar(const MemoryState& memory, std::size_t width, bool colour);
Line kinds_legend(const MemoryState& memory, std::size_t width, bool colour);
// The parts of the heap of a process, by its last census.
Line heap_bar(const ProcessHeap& heap, std::size_t width, bool colour);
Line heap_legend(const ProcessHeap& heap, double now, std::size_t width, bool colour);
Line trouble_line(const TargetSnapshot& target);  // pressure if there is PSI, kernel events, /dev/shm

// One line per precursor. If there are more precursors than rows, the last line names the others.
std::vector<Line> precursor_lines(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t rows);

// The explanation of the verdict of the target, and of each role or GPU that leaks, in at most `rows` rows. What does
// not fit is left out by whole sentences; if the first sentences do not fit, a short form of the verdict is shown.
std::vector<Line> verdict_panel(const TargetSnapshot& target, std::size_t width, std::size_t rows);

// Copy-on-write un-sharing that the user has not confirmed, unless the verdict says it.
std::vector<Line> unsharing_panel(const TargetSnapshot& target, const State& state, std::size_t width,
                                  std::size_t rows);

Line note_line(const State& state, std::size_t first_row, std::size_t last_row, std::size_t rows, std::size_t width);
// Always begins with the key that quits. `note`: a notice has no row of its own and is shown here.
Line footer_line(const SelfSample& self, const State& state, bool several_targets, std::size_t width,
                 bool note = false);

}  // namespace memscope::view
