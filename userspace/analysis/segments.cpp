#include "analysis/segments.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memscope {

std::vector<Segment> find_segments(const Floor& floor) {
    const std::size_t n = floor.size();
    const double penalty = 10 * std::log(static_cast<double>(n + 1)) * floor.noise * floor.noise;
    const std::size_t shortest = std::min<std::size_t>(n, n > 20 ? 3 : 2);
    std::vector<double> cost(n + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> begins(n + 1, 0);
    cost[0] = 0;
    for (std::size_t to = shortest; to <= n; ++to)
        for (std::size_t from = 0; from + shortest <= to; ++from) {
            const double so_far = cost[from] + penalty;
            if (so_far >= cost[to]) continue;
            const double sum = so_far + floor.line(from, to).squares;
            if (sum < cost[to]) {
                cost[to] = sum;
                begins[to] = from;
            }
        }
    std::vector<Segment> segments;
    for (std::size_t to = n; to > 0; to = begins[to]) {
        const Line line = floor.line(begins[to], to);
        segments.push_back(
            {begins[to], to, line.slope, line.value(floor.at[begins[to]]), line.value(floor.at[to - 1])});
    }
    std::ranges::reverse(segments);
    return segments;
}

}  // namespace memscope
