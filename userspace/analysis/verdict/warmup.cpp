#include "analysis/verdict/warmup.h"

#include <algorithm>

#include "analysis/verdict/rise.h"

namespace memscope {
namespace {

// The time at which the growth before a plateau reaches its height. It is between the last point of the growth and the
// second point of the plateau.
double kink(const Floor& floor, const std::vector<Segment>& segments, std::size_t plateau) {
    const Segment& flat = segments[plateau];
    const double from = floor.at[flat.from];
    if (plateau == 0 || segments[plateau - 1].slope <= 0) return from;
    const Segment& growth = segments[plateau - 1];
    const double reached = floor.at[growth.from] + (flat.begin - growth.begin) / growth.slope;
    return std::clamp(reached, floor.at[growth.to - 1], floor.at[std::min(flat.from + 1, flat.to - 1)]);
}

}  // namespace

Warmup find_warmup(const Floor& floor, const std::vector<Segment>& segments, double budget, double pause, double blur) {
    const double start = floor.at.front();
    const double material = std::max({kMaterial * floor.end_level(), 4 * floor.noise, 2 * blur});
    Warmup warmup{.start_level = std::min(segments.front().begin, floor.bytes.front() + 2 * floor.noise)};
    double base = warmup.start_level;  // level of the floor before it grew, or on the last plateau
    double grew_from = start;
    const double latest = 1.05 * budget + 2 * floor.length() / static_cast<double>(floor.size());
    for (std::size_t k = 0; k < segments.size(); ++k) {
        const Segment& segment = segments[k];
        const double from = floor.at[segment.from];
        const double to = k + 1 < segments.size() ? floor.at[segments[k + 1].from] : floor.at[segment.to - 1];
        if (from - start > latest) break;
        const double grown = segment.begin - base;
        const double rate = grown / std::max(from - grew_from, 1e-9);
        const double least = std::max({0.06 * budget, 0.1 * (from - start), pause});
        const bool flat = segment.slope * (to - from) < material ||
                          (segment.slope < 0.2 * rate && segment.end - segment.begin < 0.35 * grown);
        const double due =
            std::max(material, warmup.ended ? 0.1 * (base - warmup.start_level) : 0.02 * floor.end_level());
        if (grown > due && flat && to - from >= least) {
            warmup.grew = true;
            warmup.ended = kink(floor, segments, k);
            warmup.plateau = segment.from;
            base = std::max(segment.begin, segment.end);
            grew_from = to;
        } else if (segment.end - base > due) {
            warmup.grew = true;
        } else if (!warmup.grew && flat) {
            grew_from = to;
        }
    }
    return warmup;
}

}  // namespace memscope
