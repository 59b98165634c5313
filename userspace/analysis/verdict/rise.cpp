#include "analysis/verdict/rise.h"

#include <algorithm>
#include <cmath>

namespace memscope {

namespace {

double median_of(const Floor& floor, std::size_t from, std::size_t to) {
    return median_value({floor.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                         floor.bytes.begin() + static_cast<std::ptrdiff_t>(to)});
}

// The growth from each point of the floor to the next, less what the line through the points predicts for the time of a
// gap in the samples: steady growth during a gap is no jump.
std::vector<double> moves_without_gaps(const Floor& floor, std::size_t from) {
    constexpr double kGap = 3;  // usual distances between points
    std::vector<double> distances;
    for (std::size_t i = from; i + 1 < floor.size(); ++i) distances.push_back(floor.at[i + 1] - floor.at[i]);
    const double usual = median_value(distances);
    const double slope = std::max(0.0, floor.line_since(from).slope);
    std::vector<double> moves;
    for (std::size_t i = from; i + 1 < floor.size(); ++i) {
        const double distance = distances[i - from];
        const double expected = distance > kGap * usual ? slope * (distance - usual) : 0;
        moves.push_back(floor.bytes[i + 1] - floor.bytes[i] - expected);
    }
    return moves;
}

std::vector<Step> steps_of(const std::vector<double>& moves, const Floor& floor, std::size_t from) {
    if (moves.empty()) return {};
    std::vector<double> sizes = moves;
    for (double& size : sizes) size = std::abs(size);
    const double largest = *std::ranges::max_element(moves);
    const double least = std::max({6 * floor.noise, 0.3 * largest, 4 * median_value(std::move(sizes))});
    struct Found {
        Step step{};
        std::size_t first = 0;  // the moves of which it consists
        std::size_t last = 0;
    };
    std::vector<Found> found;
    for (std::size_t k = 0; k < moves.size(); ++k) {
        if (moves[k] <= least) continue;
        const double at = 0.5 * (floor.at[from + k] + floor.at[from + k + 1]);
        if (!found.empty() && k - found.back().last == 1 && k - found.back().first < 3) {
            Step& step = found.back().step;
            step = {0.5 * (step.at + at), step.height + moves[k]};
            found.back().last = k;
        } else {
            found.push_back({{at, moves[k]}, k, k});
        }
    }
    // A jump from a short dip, or to a short peak, is no step: the treads before and after it have the same level.
    constexpr double kStays = 0.5;  // of its height: the least difference between the treads
    std::vector<Step> steps;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t before = from + (i > 0 ? found[i - 1].last + 1 : 0);
        const std::size_t after = from + found[i].last + 1;
        const std::size_t end = i + 1 < found.size() ? from + found[i + 1].first + 1 : floor.size();
        const double stays = median_of(floor, after, end) - median_of(floor, before, from + found[i].first + 1);
        if (stays > kStays * found[i].step.height) steps.push_back(found[i].step);
    }
    return steps;
}

}  // namespace

std::vector<Step> find_steps(const Floor& floor, std::size_t from) {
    std::vector<double> moves;
    for (std::size_t i = from; i + 1 < floor.size(); ++i) moves.push_back(floor.bytes[i + 1] - floor.bytes[i]);
    return steps_of(moves, floor, from);
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
    if (floor.end() - steps.back().at > 1.7 * longest) return std::nullopt;      // the staircase has ended
    if (steps.front().at - floor.at[from] > 1.7 * longest) return std::nullopt;  // it begins long after `from`
    double risen = 0;
    for (std::size_t i = 1; i < heights.size(); ++i) risen += heights[i];
    const double span = steps.back().at - steps.front().at;
    const auto n = static_cast<double>(distances.size());
    return Staircase{static_cast<int>(steps.size()), risen / n, span / n, steps.front().at, steps.back().at};
}

namespace {

// The time at which the series was below the middle of a step for the last time.
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

namespace {

// A rise below kSmall times the least rise that counts must be nearer to its line, because memory that wanders often
// rises by so little.
constexpr double kSmall = 1.5;
constexpr double kScatterOfSmall = 0.1;
constexpr std::size_t kFewPoints = 25;  // a floor with at most this many points has to meet stricter conditions

std::vector<double> distances_to(const Line& line, const Floor& floor, std::size_t from) {
    std::vector<double> distances;
    for (std::size_t i = from; i < floor.size(); ++i) distances.push_back(floor.bytes[i] - line.value(floor.at[i]));
    return distances;
}

double inertia_of(const std::vector<double>& distances) {
    double own = 1e-9;
    double next = 0;
    for (std::size_t i = 0; i < distances.size(); ++i) {
        own += distances[i] * distances[i];
        if (i > 0) next += distances[i] * distances[i - 1];
    }
    return std::clamp(next / own, 0.0, 0.97);
}

// The deepest fall below an earlier maximum, in bytes. The floor of a leak hardly falls.
double deepest_fall(const Floor& floor, std::size_t from) {
    double high = floor.bytes[from];
    double fall = 0;
    for (std::size_t i = from; i < floor.size(); ++i) {
        high = std::max(high, floor.bytes[i]);
        fall = std::max(fall, high - floor.bytes[i]);
    }
    return fall;
}

// The largest growth within about an eighth of the points, in bytes.
double largest_burst(const Floor& floor, std::size_t from) {
    const std::size_t points = floor.size() - from;
    const auto width =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(0.12 * static_cast<double>(points))));
    const std::vector<double> moves = moves_without_gaps(floor, from);
    double burst = 0;
    double sum = 0;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        sum += moves[i] - (i >= width ? moves[i - width] : 0);
        if (i + 1 >= width) burst = std::max(burst, sum);
    }
    return burst;
}

// Standard error of the slope of a line. `spread`: standard deviation of the points around the line.
double slope_error(double spread, double points, double length) {
    return spread * std::sqrt(12.0 / points) / std::max(length, 1e-9);
}

// Whether each later part of the window still rises, down to its last few points. The rise over the whole window is not
// enough, because a warm-up that has just ended shows one as well.
bool goes_on(const Floor& floor, const Rise& rise, const Bar& bar, double spread) {
    const double wander = std::sqrt((1 + rise.inertia) / (1 - rise.inertia));
    for (const double part : {0.5, 0.34, 0.22}) {
        const std::size_t k = std::min(floor.first_since(floor.end() - part * rise.length), floor.size() - 3);
        const Line line = floor.line_since(k);
        const auto points = static_cast<double>(floor.size() - k);
        const double own = std::sqrt(line.squares / std::max(1.0, points - 2));
        const double error = slope_error(std::max(spread, own), points, floor.end() - floor.at[k]);
        const double least = part > 0.3 ? 0.55 : 0.45;
        if (line.slope + (part < 0.3 ? 1.0 : 0.7) * error < least * rise.slope) return false;
        if (!bar.vague && line.slope < 0.15 * rise.slope) return false;
    }
    const std::size_t points = floor.size() - rise.from;
    for (std::size_t last = 4; last <= points / 2; last = last + last / 2) {
        const std::size_t k = floor.size() - last;
        const double error = wander * slope_error(spread, static_cast<double>(last), floor.end() - floor.at[k]);
        if (floor.line_since(k).slope + 2.5 * error < 0.5 * rise.slope) return false;
    }
    return true;
}

// Whether the part of the rise after the budget is growth by itself, because growth inside the budget is no leak.
bool goes_on_after_budget(const Floor& floor, const Rise& rise, const Bar& bar, double spread) {
    if (rise.began >= bar.budget_ends) return true;
    if (floor.end() - bar.budget_ends < bar.least_after) return false;
    if (bar.vague) return true;
    const std::size_t k = floor.first_since(bar.budget_ends);
    if (k + 3 > floor.size()) return false;
    const Line line = floor.line_since(k);
    const double length = floor.end() - floor.at[k];
    const double error = slope_error(spread, static_cast<double>(floor.size() - k), length);
    if (floor.size() - k >= 8 && largest_burst(floor, k) > 0.5 * line.slope * length + 2.5 * floor.noise) return false;
    return line.slope > 0.5 * rise.slope && line.slope > 2.5 * error;
}

// The sums of the first points of a floor, from which the squared distances of any stretch to its mean follow.
struct FlatFits {
    std::vector<double> sums{0};
    double squares = 0;

    FlatFits(const Floor& floor, std::size_t from) {
        for (std::size_t i = from; i < floor.size(); ++i) {
            const double y = floor.bytes[i] - floor.bytes[from];
            sums.push_back(sums.back() + y);
            squares += y * y;
        }
    }
    std::size_t size() const { return sums.size() - 1; }
    // The part of `squares` that the mean of a stretch explains.
    double explained(std::size_t begin, std::size_t end) const {
        const double sum = sums[end] - sums[begin];
        return sum * sum / static_cast<double>(end - begin);
    }
};

// Whether two flat stretches with one jump between them fit the points better than a straight line does.
bool one_jump_fits_better(const Floor& floor, std::size_t from, double squares_of_line) {
    const FlatFits flat(floor, from);
    for (std::size_t k = 1; k < flat.size(); ++k)
        if (flat.squares - flat.explained(0, k) - flat.explained(k, flat.size()) < squares_of_line) return true;
    return false;
}

// Whether three flat stretches with two jumps fit the points better than a straight line does. They have three
// parameters more than the line, so they must fit better by the Bayesian information criterion. `scatter`: standard
// deviation of the points around the line, as a part of the rise.
bool two_jumps_fit_better(const Floor& floor, std::size_t from, double squares_of_line, double scatter) {
    // The distance between a line and the best three flat stretches is a tenth of the rise (a standard deviation).
    // Points that are nearer to the line than half of that are farther from the stretches.
    constexpr double kNearLine = 0.045;
    constexpr double kMoreParameters = 3;
    if (scatter < kNearLine) return false;
    const FlatFits flat(floor, from);
    const std::size_t n = flat.size();
    const auto points = static_cast<double>(n);
    const double least = squares_of_line * std::pow(points, -kMoreParameters / points);
    for (std::size_t k = 1; k < n; ++k)
        for (std::size_t i = k + 1; i < n; ++i)
            if (flat.squares - flat.explained(0, k) - flat.explained(k, i) - flat.explained(i, n) < least) return true;
    return false;
}

std::optional<Rise> stepped(const Floor& floor, Rise rise, const std::vector<Step>& steps, const Bar& bar) {
    auto stairs = find_staircase(floor, rise.from, steps);
    if (!stairs) return std::nullopt;
    if (rise.began < bar.budget_ends) {
        const auto after = std::ranges::count_if(steps, [&](const Step& step) { return step.at > bar.budget_ends; });
        if (after < (steps.size() >= 5 ? 2 : 3)) return std::nullopt;
    }
    if (floor.end() - stairs->first_at < bar.shortest) return std::nullopt;
    // The second half must have at least a quarter of the growth, because noise on a curve that flattens looks like
    // steps.
    const double middle = 0.5 * (stairs->first_at + floor.end());
    const std::size_t half = std::min(floor.first_since(middle), floor.size() - 1);
    const std::size_t first = std::min(floor.first_since(stairs->first_at), floor.size() - 1);
    const double all = floor.bytes.back() - floor.bytes[first > 0 ? first - 1 : 0];
    if (floor.bytes.back() - floor.bytes[half] < 0.25 * all) return std::nullopt;
    // The slope of the line includes growth between the steps, so it stays if the steps do not explain it.
    if (std::abs(stairs->slope() - rise.slope) <= 0.25 * rise.slope) rise.slope = stairs->slope();
    rise.began = stairs->first_at;
    rise.stairs = stairs;
    return rise;
}

}  // namespace

bool jumps_fit_better(const Floor& floor) {
    const Line line = floor.line_since(0);
    const double fitted = std::max(line.slope * floor.length(), 1e-9);
    const double spread = std::sqrt(line.squares / static_cast<double>(std::max<std::size_t>(floor.size(), 3) - 2));
    return one_jump_fits_better(floor, 0, line.squares) ||
           two_jumps_fit_better(floor, 0, line.squares, spread / fitted);
}

std::optional<Rise> find_rise(const Floor& floor, std::size_t from, const Bar& bar) {
    const std::size_t n = floor.size();
    if (from + 5 > n) return std::nullopt;
    const std::size_t points = n - from;
    Rise rise{.from = from, .began = floor.at[from], .length = floor.end() - floor.at[from]};
    if (rise.length < bar.shortest) return std::nullopt;
    if (n <= kFewPoints && n > 6 && (points < 6 || rise.length < 0.4 * floor.length())) return std::nullopt;

    const Line line = floor.line_since(from);
    rise.slope = line.slope;
    const double fitted = line.slope * rise.length;
    const double material = bar.factor * kMaterial * bar.level;
    if (fitted < material || fitted < (bar.vague ? 2.5 : 4) * floor.noise) return std::nullopt;
    const std::size_t ends = std::max<std::size_t>(2, points / 12);
    rise.bytes = median_of(floor, n - ends, n) - median_of(floor, from, from + ends);
    if (bar.vague) rise.bytes = fitted;
    if (rise.bytes < 0.6 * material || (!bar.vague && rise.bytes < 3 * floor.noise)) return std::nullopt;

    auto steps = find_steps(floor, from);
    // Three steps or more may be a staircase, and some of them may come during a gap.
    if (steps.size() < 3) steps = steps_of(moves_without_gaps(floor, from), floor, from);
    double largest = 0;
    double sum = 0;
    for (const Step& step : steps) {
        largest = std::max(largest, step.height);
        sum += step.height;
    }
    const bool is_stepped = steps.size() >= 3 && sum > 0.75 * fitted &&
                            static_cast<double>(points) >= 2.5 * static_cast<double>(steps.size());
    // One or two jumps are no leak, at any height.
    if (!steps.empty() && steps.size() < 3 && sum > 0.6 * rise.bytes) return std::nullopt;
    if (largest > (steps.size() >= 3 ? 0.6 : 0.5) * rise.bytes) return std::nullopt;
    if (points >= 8 && largest_burst(floor, from) > (is_stepped ? 0.6 : 0.5) * rise.bytes + 2.5 * floor.noise)
        return std::nullopt;
    if (!bar.vague && deepest_fall(floor, from) - 3 * floor.noise > 0.3 * rise.bytes) return std::nullopt;

    double spread = std::sqrt(line.squares / static_cast<double>(points - 2));
    spread = std::max({spread, 0.3 * floor.noise, 1e-6 * floor.level});
    rise.inertia = inertia_of(distances_to(line, floor, from));
    const double effective = std::max(2.0, static_cast<double>(points) * (1 - rise.inertia) / (1 + rise.inertia));
    rise.scatter = spread / fitted;
    rise.strength = fitted / spread * std::sqrt(effective / 12);
    rise.slope_error = slope_error(spread, effective, rise.length);

    if (is_stepped) return stepped(floor, rise, steps, bar);
    if (rise.strength < bar.factor * (bar.vague ? 3.5 : points >= 20 ? 5 : 6.5)) return std::nullopt;
    if (rise.scatter > (bar.vague ? 0.35 : n <= kFewPoints ? 0.13 : 0.2)) return std::nullopt;
    if (fitted < kSmall * material && rise.scatter > kScatterOfSmall) return std::nullopt;
    if (one_jump_fits_better(floor, from, line.squares)) return std::nullopt;
    if (bar.teeth && two_jumps_fit_better(floor, from, line.squares, rise.scatter)) return std::nullopt;
    if (!goes_on(floor, rise, bar, spread) || !goes_on_after_budget(floor, rise, bar, spread)) return std::nullopt;
    return rise;
}

}  // namespace memscope
