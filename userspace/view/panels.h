#pragma once
#include <vector>

#include "model/growth/growth.h"
#include "model/snapshot.h"
#include "view/history.h"
#include "view/line.h"
#include "view/state.h"

namespace memscope::view {

// A line for each GPU. GPUs on which the target holds memory or that have an error come first. If there are more GPUs
// than rows, the last line has the number of the others.
std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows);

// The judged memory of the target over time, with axes, its own limit and the deaths. Empty if there is too little room
// or time.
std::vector<Line> curve_panel(const TargetSnapshot& target, const History& history, std::size_t width,
                              std::size_t rows);

// The sentence, then the own lines of each role that grew most in one plane: five lines of each role, or more if they
// fit into `rows`. `growth`: null if growth is not recorded. `now`: seconds since 1970. Lines may be too long, because
// the screen cuts them.
std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, double now, std::size_t width,
                               std::size_t rows = 0);

// The containers of Python that grew or hold most, for each process that has a census of objects.
std::vector<Line> holders_panel(const TargetSnapshot& target, double now, std::size_t width);

std::vector<Line> help_lines(bool replay);

// The parts of the screen around the tree. Lines may be too long, because the screen cuts them.

// The deaths that the user has not confirmed: the text of the newest one, and the number of the others. The last row
// names the key that confirms them.
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

// The explanation of the verdict of the target, and of each role or GPU that leaks, in at most `rows` rows. Whole
// sentences that do not fit are left out. If sentences are left out and the target leaks, a short form of the verdict
// is shown instead.
std::vector<Line> verdict_panel(const TargetSnapshot& target, std::size_t width, std::size_t rows);

// Copy-on-write un-sharing that the user has not confirmed. Empty if the verdict names un-sharing as its cause.
std::vector<Line> unsharing_panel(const TargetSnapshot& target, const State& state, std::size_t width,
                                  std::size_t rows);

Line note_line(const State& state, std::size_t first_row, std::size_t last_row, std::size_t rows, std::size_t width);
// Begins with the key that quits, or with the filter while the user types it. `note`: notices have no row of their own,
// so the newest notice is shown here.
Line footer_line(const SelfSample& self, const State& state, bool several_targets, std::size_t width,
                 bool note = false);

}  // namespace memscope::view
