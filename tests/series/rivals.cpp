#include "series/rivals.h"

#include <algorithm>
#include <cmath>

#include "analysis/verdict/statistics.h"

namespace memscope::made {
namespace {

constexpr double kNoticed = 0.05;  // of the level: the least growth that a person notices

Answer leaking_if(bool leaks, double slope) { return {leaks ? Verdict::leaking : Verdict::stable, slope}; }

double length_of(const Labelled& made) { return std::max(made.samples.back().at - made.samples.front().at, 1.0); }

Answer grew_since_start(const Labelled& made) {
    const double first = made.samples.front().bytes;
    const double last = made.samples.back().bytes;
    return leaking_if(last > (1 + kNoticed) * first, (last - first) / length_of(made));
}

Answer first_ten_against_last_ten(const Labelled& made) {
    const auto lowest = [](auto begin, auto end) {
        return std::min_element(begin, end, [](const auto& a, const auto& b) { return a.bytes < b.bytes; })->bytes;
    };
    const auto n = std::min<std::ptrdiff_t>(10, std::ssize(made.samples));
    const double first = lowest(made.samples.begin(), made.samples.begin() + n);
    const double last = lowest(made.samples.end() - n, made.samples.end());
    return leaking_if(last > (1 + kNoticed) * first, (last - first) / length_of(made));
}

Answer linear_regression(const Labelled& made) {
    std::vector<double> at;
    std::vector<double> bytes;
    for (const auto& sample : made.samples) {
        at.push_back(sample.at);
        bytes.push_back(sample.bytes);
    }
    const Line line = LineFits(at, bytes).line(0, at.size());
    double all = 0;
    for (const double each : bytes) all += (each - line.height) * (each - line.height);
    const bool explains = all > 0 && 1 - line.squares / all > 0.5;
    return leaking_if(explains && line.slope * length_of(made) > kNoticed * line.height, line.slope);
}

// Mann-Kendall test: whether later minima are larger than earlier ones more often than by chance. Sen's slope.
Answer mann_kendall_on_the_floor(const Labelled& made) {
    constexpr std::size_t kBlocks = 60;
    std::vector<double> at;
    std::vector<double> floor;
    const double width = length_of(made) / kBlocks;
    double cell = -1;
    for (const auto& sample : made.samples) {
        const double now = std::floor(sample.at / width);
        if (now != cell) {
            cell = now;
            at.push_back(sample.at);
            floor.push_back(sample.bytes);
        } else if (sample.bytes < floor.back()) {
            at.back() = sample.at;
            floor.back() = sample.bytes;
        }
    }
    double s = 0;
    std::vector<double> slopes;
    for (std::size_t i = 0; i < floor.size(); ++i)
        for (std::size_t k = i + 1; k < floor.size(); ++k) {
            s += floor[k] > floor[i] ? 1 : floor[k] < floor[i] ? -1 : 0;
            slopes.push_back((floor[k] - floor[i]) / std::max(at[k] - at[i], 1e-9));
        }
    const auto n = static_cast<double>(floor.size());
    const double z = s / std::sqrt(std::max(n * (n - 1) * (2 * n + 5) / 18, 1.0));
    const double slope = median_value(std::move(slopes));
    return leaking_if(z > 3 && slope * length_of(made) > 0.01 * floor.back(), slope);
}

constexpr Rival kRivals[] = {
    {"grew since start", grew_since_start},
    {"first 10 against last 10", first_ten_against_last_ten},
    {"linear regression", linear_regression},
    {"Mann-Kendall on the floor", mann_kendall_on_the_floor},
};

}  // namespace

std::span<const Rival> rivals() { return kRivals; }

}  // namespace memscope::made
