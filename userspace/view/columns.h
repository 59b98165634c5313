#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace memscope::view {

enum class Cell { pid, anon, file, shmem, rss, growth, faults, starts, exits, threads, trend, gpu };

struct Column {
    Cell cell{};
    std::string_view title{};
    std::size_t width = 0;  // a space stands before each
};

// The columns that fit, in the order they are drawn; the name takes what they leave.
struct Columns {
    std::size_t name = 0;
    std::vector<Column> columns{};
};
// `gpu`: GPU memory is held, and has a column.
Columns fit_columns(std::size_t width, bool gpu = false);

}  // namespace memscope::view
