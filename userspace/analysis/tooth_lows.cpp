#include "analysis/tooth_lows.h"

#include <algorithm>
#include <cmath>

#include "analysis/zigzag.h"

namespace memscope {
namespace {

constexpr std::size_t kFewest = 6;   // lows
constexpr double kTooth = 0.45;      // of the usual height: a smaller excursion is not a tooth
constexpr double kLate = 3;          // times the usual interval before a low: a gap, so the bottom was not sampled
constexpr double kSamePeriod = 1.6;  // times the usual distance of lows, either way
constexpr double kSharpest = 0.25;   // of the usual interval: shorter ones do not make a low more certain
constexpr double kNearLow = 4;       // deviations of a sample
constexpr double kUnmoved = 0.1;     // of the blur: lows that scatter by less did not follow the phase

struct Low {
    double at = 0;
    double bytes = 0;
    double interval = 0;  // seconds since the sample before it: the tooth fell within that time
};

double median_interval(const std::vector<Low>& lows) {
    std::vector<double> intervals;
    for (const Low& low : lows) intervals.push_back(low.interval);
    return median_value(std::move(intervals));
}

// Between spikes many samples lie on the floor: their mean is more certain than the lowest.
double mean_near(std::span<const Bin> bins, std::size_t lowest, double reach) {
    const double most = bins[lowest].low + reach;
    double sum = 0;
    double n = 0;
    for (std::size_t i = lowest; i < bins.size() && bins[i].low <= most; ++i, ++n) sum += bins[i].low;
    for (std::size_t i = lowest; i > 0 && bins[i - 1].low <= most; --i, ++n) sum += bins[i - 1].low;
    return sum / n;
}

std::vector<Low> lows_of(std::span<const Bin> bins, double least, double reach) {
    std::vector<Low> lows;
    std::size_t k = 0;
    for (const Turn& turn : find_turns(bins, least).lows) {
        while (k + 1 < bins.size() && bins[k].low_at < turn.at) ++k;
        const double interval = k > 0 ? bins[k].low_at - bins[k - 1].low_at : 0;
        lows.push_back({turn.at, reach > 0 ? mean_near(bins, k, reach) : turn.bytes,
                        interval / std::max(1.0, static_cast<double>(bins[k].count))});
    }
    // The series may begin inside a tooth, and the last low may still fall.
    if (lows.size() > 1 && lows[0].bytes > lows[1].bytes) lows.erase(lows.begin());
    const auto rises_after = [&](const Bin& bin) { return bin.high > bins[k].low + least; };
    if (!lows.empty() && std::ranges::none_of(bins.subspan(k), rises_after)) lows.pop_back();
    return lows;
}

double spread_of(const std::vector<Low>& lows) {
    std::vector<double> at;
    std::vector<double> bytes;
    for (const Low& low : lows) {
        at.push_back(low.at);
        bytes.push_back(low.bytes);
    }
    return std::sqrt(LineFits(at, bytes).line(0, at.size()).squares / static_cast<double>(at.size() - 2));
}

// A phase that drifts passes a whole interval where a tooth has one sample more or less than the others.
std::vector<double> passes_of(const std::vector<Low>& lows) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < lows.size(); ++i) distances.push_back(lows[i].at - lows[i - 1].at);
    const double usual = median_value(distances);
    const double half = 0.5 * median_interval(lows);
    std::vector<double> passed_at;
    for (std::size_t i = 0; i < distances.size(); ++i)
        if (std::abs(distances[i] - usual) > half && distances[i] < kSamePeriod * usual &&
            distances[i] > usual / kSamePeriod)
            passed_at.push_back(lows[i + 1].at);
    return passed_at;
}

// Brings lows to the same phase: a sawtooth rises from its bottom until it is sampled, for half an interval on average.
void to_bottoms(std::vector<Low>& lows, double rate) {
    const double usual = median_interval(lows);
    std::erase_if(lows, [&](const Low& low) { return low.interval > kLate * usual; });
    for (Low& low : lows) low.bytes -= 0.5 * low.interval * rate;
}

// One point for each `group` of neighbours; the sooner after its fall a low was sampled, the more it counts. What is
// left over at the beginning is left out.
void add_means(Floor& floor, const std::vector<Low>& lows, std::size_t group) {
    const double least = std::max(kSharpest * median_interval(lows), 1e-3);
    for (std::size_t i = lows.size() % group; i < lows.size(); i += group) {
        double at = 0;
        double bytes = 0;
        double all = 0;
        for (std::size_t k = i; k < i + group; ++k) {
            const double weight = 1 / (lows[k].interval * lows[k].interval + least * least);
            at += weight * lows[k].at;
            bytes += weight * lows[k].bytes;
            all += weight;
        }
        floor.at.push_back(at / all);
        floor.bytes.push_back(bytes / all);
    }
}

}  // namespace

double ToothLows::drift_since(double time) const {
    const auto passed = std::ranges::count_if(passed_at, [&](double at) { return at > time; });
    return blur / static_cast<double>(1 + passed);
}

std::optional<ToothLows> find_tooth_lows(std::span<const Bin> bins, const Spikes& spikes, double noise, double since,
                                         std::size_t most_points) {
    const auto first = std::ranges::lower_bound(bins, since, {}, &Bin::low_at);
    const double least = std::max(kTooth * spikes.height, 10 * noise);
    auto lows = lows_of({first, bins.end()}, least, spikes.blur > 0 ? 0 : kNearLow * noise);
    if (lows.size() < kFewest) return std::nullopt;
    ToothLows found{.blur = spikes.blur, .passed_at = passes_of(lows)};
    // Lows that stay where they are while the phase passes are those of flat bottoms, which are as low late as soon.
    if (found.passed_at.size() >= 2 && spread_of(lows) < kUnmoved * found.blur) found.blur = 0;
    if (found.blur > 0) to_bottoms(lows, spikes.height / std::max(spikes.period, 1e-9));
    if (found.blur == 0)
        for (Low& low : lows) low.interval = 0;
    if (lows.size() < kFewest) return std::nullopt;
    Floor& floor = found.floor;
    add_means(floor, lows, (lows.size() + most_points - 1) / most_points);
    floor.level = std::max(median_value(floor.bytes), 1.0);
    floor.noise = std::max({point_noise(floor.bytes), 0.1 * noise, 2e-5 * floor.level});
    floor.fits = LineFits(floor.at, floor.bytes);
    return found;
}

}  // namespace memscope
