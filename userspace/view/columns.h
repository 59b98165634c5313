#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace memscope::view {

enum class Cell { pid, own, inherited, file, shmem, rss, growth, faults, starts, exits, threads, trend, gpu };

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
// What has a column only where there is some of it.
struct Present {
    bool gpu = false;        // GPU memory
    bool inherited = false;  // pages that processes still share with the process they were forked from
};
Columns fit_columns(std::size_t width, const Present& present = {});

}  // namespace memscope::view
