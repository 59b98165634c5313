#include "analysis/verdict/floor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace memscope {
namespace {

struct Points {
    std::vector<double> at{};
    std::vector<double> bytes{};
    std::size_t size() const { return at.size(); }
};

// Divides the time into `blocks` parts of equal length and returns the lowest sample of each part.
Points block_minima(std::span<const Bin> bins, std::size_t blocks) {
    const double first = bins.front().low_at;
    const double width = (bins.back().low_at - first) / static_cast<double>(blocks);
    Points points;
    double cell = -1;
    for (const Bin& bin : bins) {
        const double at = width > 0 ? std::min(std::floor((bin.low_at - first) / width), double(blocks - 1)) : 0;
        if (at != cell) {
            cell = at;
            points.at.push_back(bin.low_at);
            points.bytes.push_back(bin.low);
        } else if (bin.low < points.bytes.back()) {
            points.at.back() = bin.low_at;
            points.bytes.back() = bin.low;
        }
    }
    return points;
}

// A block that lies entirely within a spike does not show the floor. It gets the value of its higher neighbour.
void clip_lone_peaks(std::vector<double>& bytes, double tolerance) {
    if (bytes.size() < 3) return;
    std::vector<double> out = bytes;
    for (std::size_t i = 1; i + 1 < bytes.size(); ++i) {
        const double beside = std::max(bytes[i - 1], bytes[i + 1]);
        if (bytes[i] > beside + tolerance) out[i] = beside;
    }
    bytes = std::move(out);
    constexpr std::size_t kManyPoints = 15;
    if (bytes.size() < kManyPoints) return;
    std::vector<double> moves;
    for (std::size_t i = 1; i < bytes.size(); ++i) moves.push_back(std::abs(bytes[i] - bytes[i - 1]));
    const double usual = tolerance + 3 * median_value(std::move(moves));
    if (bytes.back() > bytes[bytes.size() - 2] + usual) bytes.back() = bytes[bytes.size() - 2];
    if (bytes.front() > bytes[1] + usual) bytes.front() = bytes[1];
}

struct Falls {
    int count = 0;
    double sum = 0;
};
Falls falls_of(const std::vector<double>& bytes, double tolerance) {
    Falls falls;
    for (std::size_t i = 1; i < bytes.size(); ++i)
        if (bytes[i - 1] - bytes[i] > tolerance) {
            ++falls.count;
            falls.sum += bytes[i - 1] - bytes[i];
        }
    return falls;
}

// If a sawtooth has few teeth, no block width fits. The floor then consists of the bottoms of the teeth.
std::optional<Points> bottoms_of_teeth(std::span<const Bin> bins, double tolerance, double noise, double level) {
    const std::size_t width = std::max<std::size_t>(1, bins.size() / 12);
    std::vector<double> heights;
    for (std::size_t i = 0; i + width <= bins.size(); i += width) {
        double low = bins[i].low;
        double high = bins[i].high;
        for (const Bin& bin : bins.subspan(i, width)) {
            low = std::min(low, bin.low);
            high = std::max(high, bin.high);
        }
        heights.push_back(high - low);
    }
    const double height = median_value(std::move(heights));
    Turns turns = find_turns(bins, std::max({10 * noise, 0.45 * height, 0.01 * level}));
    auto& lows = turns.lows;
    if (lows.size() < 6 || turns.highs.size() < 5) return std::nullopt;
    if (lows[0].bytes > lows[1].bytes) lows.erase(lows.begin());
    if (lows.back().bytes > lows[lows.size() - 2].bytes + tolerance) lows.pop_back();
    Points points;
    for (const Turn& low : lows) {
        points.at.push_back(low.at);
        points.bytes.push_back(low.bytes);
    }
    constexpr std::size_t kFewest = 5;
    if (points.size() < kFewest) return std::nullopt;
    clip_lone_peaks(points.bytes, tolerance);
    const int allowed = std::max(1, static_cast<int>(0.05 * static_cast<double>(points.size())));
    if (falls_of(points.bytes, tolerance).count > allowed) return std::nullopt;
    return points;
}

// Uses the finest blocks at which the floor does not fall repeatedly. Finer blocks would follow the spikes, and coarser
// blocks would lose detail.
Points envelope(std::span<const Bin> bins, double noise, double level) {
    const double tolerance = std::max(4 * noise, 0.004 * level);
    std::optional<Points> clean;
    std::optional<Points> nearly;
    Points best;
    double best_falls = 0;
    for (std::size_t blocks : {120, 90, 70, 54, 42, 32, 25, 19, 15, 12, 10}) {
        blocks = std::min(blocks, bins.size());
        Points points = block_minima(bins, blocks);
        if (points.size() < 5 && best.size() > 0) break;
        clip_lone_peaks(points.bytes, tolerance);
        const Falls falls = falls_of(points.bytes, tolerance);
        if (falls.count == 0) {
            clean = std::move(points);
            break;
        }
        if (best.size() == 0 || falls.sum < best_falls) {
            best_falls = falls.sum;
            best = points;
        }
        const bool coarsest = points.size() < 5 || (blocks == bins.size() && blocks < 12);
        if (falls.count == 1 && !nearly) nearly = std::move(points);
        if (coarsest) break;
    }
    // A single fall is a permanent change, so finer blocks with one fall are better than much coarser ones with none.
    if (nearly && (!clean || static_cast<double>(nearly->size()) > 2.5 * static_cast<double>(clean->size())))
        clean = std::move(nearly);
    if (bins.size() >= 40 && (!clean || clean->size() <= 42))
        if (auto teeth = bottoms_of_teeth(bins, tolerance, noise, level))
            if (!clean || static_cast<double>(teeth->size()) >= 0.6 * static_cast<double>(clean->size())) return *teeth;
    return clean ? *std::move(clean) : best;
}

// Noise from the distance between a point and the line through its neighbours. The median ignores kinks and steps.
double point_noise(const std::vector<double>& bytes) {
    std::vector<double> bends;
    for (std::size_t i = 1; i + 1 < bytes.size(); ++i)
        bends.push_back(std::abs(bytes[i - 1] - 2 * bytes[i] + bytes[i + 1]));
    constexpr double kMedianOfNormal = 0.6745;
    constexpr double kSpreadOfBend = 2.449;  // sqrt(1 + 4 + 1)
    return median_value(std::move(bends)) / (kMedianOfNormal * kSpreadOfBend);
}

}  // namespace

std::size_t Floor::first_since(double time) const {
    return static_cast<std::size_t>(std::lower_bound(at.begin(), at.end(), time) - at.begin());
}

double Floor::end_level() const {
    const std::size_t n = std::min(size(), std::max<std::size_t>(2, size() / 10));
    return median_value({bytes.end() - static_cast<std::ptrdiff_t>(n), bytes.end()});
}

double sample_noise(std::span<const Bin> bins, double level) {
    constexpr std::size_t kMost = 1024;
    bins = bins.last(std::min(bins.size(), kMost));
    std::vector<double> distances;
    for (std::size_t i = 1; i + 1 < bins.size(); ++i) {
        const double span = bins[i + 1].low_at - bins[i - 1].low_at;
        const double w = span > 0 ? (bins[i].low_at - bins[i - 1].low_at) / span : 0.5;
        const double expected = bins[i - 1].low * (1 - w) + bins[i + 1].low * w;
        distances.push_back(std::abs(bins[i].low - expected) / std::sqrt(1 + w * w + (1 - w) * (1 - w)));
    }
    // A low quantile, because steps and the edges of spikes also cause large distances.
    constexpr double kOfNormal = 0.3853;
    double noise = std::clamp(quantile(std::move(distances), 0.3) / kOfNormal, 1e-5 * level, 0.015 * level);
    constexpr std::size_t kFew = 40;  // differences between few points are growth, not noise
    if (bins.size() < kFew) noise = std::min(noise, 0.003 * level);
    // If a spike comes every few samples, most distances are caused by spikes. The minima of blocks do not contain
    // them.
    constexpr std::size_t kStretches = 30;
    if (bins.size() >= 3 * kStretches)
        noise = std::max(1e-5 * level, std::min(noise, 3 * point_noise(block_minima(bins, kStretches).bytes)));
    return noise;
}

namespace {

// `noise`: of single samples. `level`: the median of all samples.
Floor floor_of(Points points, double noise, double level) {
    Floor floor{.at = std::move(points.at), .bytes = std::move(points.bytes)};
    floor.level = std::max(median_value(floor.bytes), 1.0);
    floor.noise = std::max({point_noise(floor.bytes), 0.1 * noise, 2e-5 * level});
    floor.fits = LineFits(floor.at, floor.bytes);
    return floor;
}

double median_low(std::span<const Bin> bins) {
    std::vector<double> lows;
    for (const Bin& bin : bins) lows.push_back(bin.low);
    return std::max(median_value(std::move(lows)), 1.0);
}

}  // namespace

Floor find_floor(std::span<const Bin> bins) {
    const double level = median_low(bins);
    const double noise = sample_noise(bins, level);
    Floor floor = floor_of(envelope(bins, noise, level), noise, level);
    if (bins.size() < 40) floor.noise = std::min(floor.noise, 0.003 * level);
    return floor;
}

std::optional<Floor> find_floor_by_stretches(std::span<const Bin> bins, double width, double noise) {
    constexpr double kFewest = 12;
    constexpr double kMost = 120;
    const double length = bins.back().low_at - bins.front().low_at;
    const double stretches = std::min(std::floor(length / width), kMost);
    if (!(stretches >= kFewest)) return std::nullopt;
    const double level = median_low(bins);
    Points points = block_minima(bins, static_cast<std::size_t>(stretches));
    if (static_cast<double>(points.size()) < kFewest) return std::nullopt;
    clip_lone_peaks(points.bytes, std::max(4 * noise, 0.004 * level));
    return floor_of(std::move(points), noise, level);
}

namespace {

// Like point_noise(), but for points at uneven distances.
double noise_between(const Points& points) {
    std::vector<double> bends;
    for (std::size_t i = 1; i + 1 < points.size(); ++i) {
        const double w = (points.at[i] - points.at[i - 1]) / (points.at[i + 1] - points.at[i - 1]);
        const double expected = points.bytes[i - 1] * (1 - w) + points.bytes[i + 1] * w;
        bends.push_back(std::abs(points.bytes[i] - expected) / std::sqrt(1 + w * w + (1 - w) * (1 - w)));
    }
    constexpr double kMedianOfNormal = 0.6745;
    return median_value(std::move(bends)) / kMedianOfNormal;
}

}  // namespace

Floor floor_through(std::vector<double> at, std::vector<double> bytes, double noise, double level) {
    Points points{std::move(at), std::move(bytes)};
    const double between = noise_between(points);
    Floor floor = floor_of(std::move(points), noise, level);
    floor.noise = std::max({between, 0.1 * noise, 2e-5 * level});
    return floor;
}

std::optional<Floor> find_floor_of_teeth(std::span<const Bin> bins, double height, double period, double noise) {
    constexpr std::size_t kFewest = 5;
    constexpr std::size_t kMost = 120;
    constexpr double kTooth = 0.45;    // of the usual height: the least fall between two teeth
    constexpr double kRisen = 0.2;     // of that fall: the series has left the bottom of the last tooth
    constexpr double kGap = 3;         // usual distances between bins ...
    constexpr double kOfPeriod = 0.1;  // ... and this part of a period: a longer gap may hide the bottom
    const double least = std::max(kTooth * height, 10 * noise);
    const Turns turns = find_turns(bins, least);
    std::vector<double> distances;
    for (std::size_t i = 1; i < bins.size(); ++i) distances.push_back(bins[i].low_at - bins[i - 1].low_at);
    const double gap = std::max(kGap * median_value(std::move(distances)), kOfPeriod * period);
    Points points;
    for (const Turn& low : turns.lows) {
        const auto bin = std::ranges::lower_bound(bins, low.at, {}, &Bin::low_at);
        const bool fell = !turns.highs.empty() && low.at > turns.highs.front().at;
        // The last fall may not be over.
        const bool rose = bins.back().low - low.bytes > kRisen * least || low.at < turns.highs.back().at;
        if (!fell || !rose || bin == bins.begin() || low.at - std::prev(bin)->low_at > gap) continue;
        points.at.push_back(low.at);
        points.bytes.push_back(low.bytes);
    }
    if (points.size() < kFewest || points.size() > kMost) return std::nullopt;
    return floor_through(std::move(points.at), std::move(points.bytes), noise, median_low(bins));
}

std::vector<Segment> find_segments(const Floor& floor) {
    const std::size_t n = floor.size();
    const double penalty = kPenaltyOfLine * std::log(static_cast<double>(n + 1)) * floor.noise * floor.noise;
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

namespace {

// Finds the turns of a series. add() takes the points one by one.
class TurnFinder {
  public:
    TurnFinder(const Turn& first, double least) : least_(least), low_(first), high_(first) {}

    void add(const Turn& point) {
        if (way_ != Way::down) {
            if (point.bytes > high_.bytes) {
                high_ = point;
            } else if (point.bytes < high_.bytes - least_) {
                if (way_ == Way::up || high_.bytes - low_.bytes > least_) turns_.highs.push_back(high_);
                way_ = Way::down;
                low_ = point;
                return;
            }
        }
        if (way_ == Way::up) return;
        if (point.bytes < low_.bytes) {
            low_ = point;
        } else if (point.bytes > low_.bytes + least_) {
            turns_.lows.push_back(low_);
            way_ = Way::up;
            high_ = point;
        }
    }
    Turns finish() && {
        if (way_ == Way::down) turns_.lows.push_back(low_);
        return std::move(turns_);
    }

  private:
    enum class Way { unknown, up, down };

    double least_;
    Turn low_;
    Turn high_;
    Way way_ = Way::unknown;
    Turns turns_{};
};

}  // namespace

Turns find_turns(std::span<const Bin> bins, double least) {
    if (bins.empty()) return {};
    // A bin may contain the top of a tooth and the bottom after it, so its low and its high count in their order.
    const auto first = [](const Bin& bin) {
        return bin.high_at < bin.low_at ? Turn{bin.high_at, bin.high} : Turn{bin.low_at, bin.low};
    };
    TurnFinder finder(first(bins.front()), least);
    for (const Bin& bin : bins) {
        finder.add(first(bin));
        finder.add(bin.high_at < bin.low_at ? Turn{bin.low_at, bin.low} : Turn{bin.high_at, bin.high});
    }
    return std::move(finder).finish();
}

}  // namespace memscope
