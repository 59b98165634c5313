#include "analysis/open_excursion.h"

#include <algorithm>
#include <optional>

namespace memscope {
namespace {

constexpr double kLeastHeight = 0.025;  // of the level: less is noise
constexpr double kAlike = 0.5;          // of the height: what still stands on the jump, or is as high

struct Jump {
    std::size_t at = 0;  // the first bin on it
    double height = 0;
    double from = 0;
};

double held(const Jump& jump) { return jump.from + kAlike * jump.height; }

std::optional<Jump> jump_to(std::span<const Bin> bins, std::size_t at) {
    const double height = bins[at].low - bins[at - 1].low;
    if (height < kLeastHeight * bins[at - 1].low) return std::nullopt;
    return Jump{at, height, bins[at - 1].low};
}

bool stands_until(std::span<const Bin> bins, const Jump& jump, std::size_t end) {
    return std::ranges::all_of(bins.subspan(jump.at, end - jump.at),
                               [&](const Bin& bin) { return bin.low >= held(jump); });
}

// The highest on which all that follows stands.
std::optional<Jump> last_jump(std::span<const Bin> bins) {
    std::optional<Jump> highest;
    const std::size_t oldest = std::max<std::size_t>(bins.size() - bins.size() / 3, 1);
    for (std::size_t at = oldest; at < bins.size(); ++at) {
        const auto jump = jump_to(bins, at);
        if (jump && (!highest || jump->height > highest->height) && stands_until(bins, *jump, bins.size()))
            highest = jump;
    }
    return highest;
}

// How long what stood on that jump took until it came back; 0: it never did.
double lasted(std::span<const Bin> bins, const Jump& jump) {
    const auto back = std::ranges::find_if(bins.subspan(jump.at), [&](const Bin& bin) { return bin.low < held(jump); });
    return back == bins.subspan(jump.at).end() ? 0 : back->low_at - bins[jump.at].low_at;
}

}  // namespace

std::size_t open_excursion(std::span<const Bin> bins) {
    if (bins.size() < 2) return 0;
    const auto open = last_jump(bins);
    if (!open) return 0;
    const double age = bins.back().low_at - bins[open->at].low_at;
    for (std::size_t at = 1; at < open->at; ++at) {
        const auto jump = jump_to(bins.first(open->at), at);
        if (jump && jump->height >= kAlike * open->height && lasted(bins.first(open->at), *jump) >= age)
            return bins.size() - open->at;
    }
    return 0;
}

}  // namespace memscope
