#pragma once
#include <vector>

#include "model/growth/growth.h"
#include "model/snapshot.h"
#include "view/history.h"
#include "view/line.h"
#include "view/state.h"

namespace memscope::view {

// A line for each GPU, those the target holds memory of first. Where there are more than rows, the last says how many.
std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows);

// The largest call sites of each role, in one plane. Each line may be too long; the screen cuts it. Null: nobody
// follows growth.
std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, std::size_t width);

std::vector<Line> help_lines();

// The parts of the screen around the tree. Each line may be too long; the screen cuts it.

// Deaths that nobody has confirmed, the newest first and in full; the last row says which key confirms them.
std::vector<Line> death_panel(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows);

// `rows` targets around the selected one, each with its bar.
std::vector<Line> target_list(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows);

Line title_line(const Snapshot& snapshot, const TargetSnapshot& target, const History& history, const State& state,
                std::size_t width);
Line limit_line(const MemoryState& memory, std::size_t width);  // the bar against the effective limit
Line headroom_line(const MemoryState& memory, std::size_t width);
Line kinds_bar(const MemoryState& memory, std::size_t width, bool colour);
Line kinds_legend(const MemoryState& memory, std::size_t width, bool colour);
Line trouble_line(const TargetSnapshot& target);  // pressure where there is PSI, events that should not be

// What announces an OOM kill, a line each; where there are more than rows, the last one names the others.
std::vector<Line> precursor_lines(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t rows);

// What the verdict of the target means, and of a role or GPU that leaks; and who copies shared pages, where no verdict
// has said so. As many lines as that takes.
std::vector<Line> verdict_panel(const TargetSnapshot& target, std::size_t width);

Line note_line(const State& state, std::size_t first_row, std::size_t last_row, std::size_t rows, std::size_t width);
Line footer_line(const SelfSample& self, const State& state, bool several_targets, std::size_t width);

}  // namespace memscope::view
