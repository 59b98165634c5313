#pragma once
#include "view/columns.h"
#include "view/line.h"
#include "view/tree.h"

namespace memscope::view {

Line table_header(const Columns& columns, const State& state);
// Formats one row; only visible rows are asked for.
Line table_row(const Columns& columns, const Tree& tree, const Row& row, const TargetSnapshot& target,
               const History& history, const State& state);

}  // namespace memscope::view
