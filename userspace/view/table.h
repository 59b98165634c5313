#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "view/line.h"
#include "view/tree.h"

namespace memscope::view {

enum class Cell { pid, own, inherited, file, shmem, rss, growth, faults, starts, exits, threads, trend, gpu };

struct Column {
    Cell cell{};
    std::string_view title{};
    std::size_t width = 0;  // without the space before the column
};

// The columns that fit, in drawing order. The name gets the remaining width.
struct Columns {
    std::size_t name = 0;
    std::vector<Column> columns{};
};
// Columns that are shown only if the target has such memory.
struct Present {
    bool gpu = false;        // GPU memory
    bool inherited = false;  // pages that processes still share with the process they were forked from
};
Columns fit_columns(std::size_t width, const Present& present = {});

Line table_header(const Columns& columns, const State& state);
// Formats one row. Called for visible rows only.
Line table_row(const Columns& columns, const Tree& tree, const Row& row, const TargetSnapshot& target,
               const History& history, const State& state);

}  // namespace memscope::view
