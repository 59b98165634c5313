#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace memscope::view {

// A value for each tick, without gaps; the last one belongs to tick `last_tick`.
struct Series {
    std::vector<std::uint64_t> values{};
    std::uint64_t last_tick = 0;
};

// Exactly `width` columns, the newest at the right. Neighbouring ticks share a column where there are more ticks than
// columns; which ones share is tied to the tick's number, so that a column that is full does not change any more.
// The scale spans at least 5 % of the level: a flat line with noise on it is drawn flat, in the middle.
std::string sparkline(const Series& series, std::size_t width);

}  // namespace memscope::view
