#include "analysis/steps.h"

#include <algorithm>
#include <cmath>

namespace memscope {

std::vector<Step> find_steps(const Floor& floor, std::size_t from) {
    std::vector<double> moves;
    for (std::size_t i = from; i + 1 < floor.size(); ++i) moves.push_back(floor.bytes[i + 1] - floor.bytes[i]);
    if (moves.empty()) return {};
    std::vector<double> sizes = moves;
    for (double& size : sizes) size = std::abs(size);
    const double largest = *std::ranges::max_element(moves);
    const double least = std::max({6 * floor.noise, 0.3 * largest, 4 * median_value(std::move(sizes))});
    std::vector<Step> steps;
    std::size_t first = 0;
    std::size_t last = 0;
    for (std::size_t k = 0; k < moves.size(); ++k) {
        if (moves[k] <= least) continue;
        const double at = 0.5 * (floor.at[from + k] + floor.at[from + k + 1]);
        if (!steps.empty() && k - last == 1 && k - first < 3) {
            steps.back() = {0.5 * (steps.back().at + at), steps.back().height + moves[k]};
        } else {
            steps.push_back({at, moves[k]});
            first = k;
        }
        last = k;
    }
    return steps;
}

std::optional<Staircase> find_staircase(const Floor& floor, std::size_t from, const std::vector<Step>& steps) {
    if (steps.size() < 3) return std::nullopt;
    std::vector<double> heights;
    std::vector<double> distances;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        heights.push_back(steps[i].height);
        if (i > 0) distances.push_back(steps[i].at - steps[i - 1].at);
    }
    const double height = median_value(heights);
    const double period = median_value(distances);
    const double longest = *std::ranges::max_element(distances);
    const double length = floor.end() - floor.at[from];
    if (*std::ranges::max_element(heights) > 3.5 * height) return std::nullopt;
    if (longest > 3.2 * period || longest > 0.55 * length) return std::nullopt;
    if (floor.end() - steps.back().at > 1.7 * longest) return std::nullopt;      // it has ended
    if (steps.front().at - floor.at[from] > 1.7 * longest) return std::nullopt;  // or what was before is not part of it
    double risen = 0;
    for (std::size_t i = 1; i < heights.size(); ++i) risen += heights[i];
    const double span = steps.back().at - steps.front().at;
    const auto n = static_cast<double>(distances.size());
    return Staircase{static_cast<int>(steps.size()), risen / n, span / n, steps.front().at, steps.back().at};
}

namespace {

// Where the series was below the middle of a step for the last time.
double place_of_step(double at, const Floor& floor, std::span<const Bin> bins) {
    const std::size_t after = std::clamp<std::size_t>(floor.first_since(at), 2, floor.size() - 1);
    const std::size_t next = std::min(after + 1, floor.size() - 1);
    const double low = std::min(floor.bytes[after - 1], floor.bytes[after - 2]);
    const double middle = 0.5 * (low + std::max(floor.bytes[after], floor.bytes[next]));
    double place = at;
    bool found = false;
    for (auto bin = std::ranges::lower_bound(bins, floor.at[after - 2], {}, &Bin::low_at);
         bin != bins.end() && bin->low_at <= floor.at[next]; ++bin) {
        if (bin->low < middle) {
            place = bin->low_at;
            found = true;
        } else if (found && bin != bins.begin() && std::prev(bin)->low < middle) {
            place = 0.5 * (std::prev(bin)->low_at + bin->low_at);
        }
    }
    return found ? place : at;
}

}  // namespace

Staircase sharpened(Staircase stairs, const Floor& floor, std::span<const Bin> bins) {
    const double first = place_of_step(stairs.first_at, floor, bins);
    const double last = place_of_step(stairs.last_at, floor, bins);
    if (last <= first || stairs.count < 2) return stairs;
    stairs.period = (last - first) / (stairs.count - 1);
    stairs.first_at = first;
    stairs.last_at = last;
    return stairs;
}

}  // namespace memscope
