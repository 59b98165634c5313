#include "analysis/zigzag.h"

namespace memscope {

Turns find_turns(std::span<const Bin> bins, double least) {
    enum class Way { unknown, up, down };
    Turns turns;
    if (bins.empty()) return turns;
    const Bin* low = bins.data();
    const Bin* high = bins.data();
    Way way = Way::unknown;
    for (const Bin& bin : bins) {
        if (way != Way::down) {
            if (bin.high > high->high) {
                high = &bin;
            } else if (bin.low < high->high - least) {
                if (way == Way::up || high->high - low->low > least) turns.highs.push_back({high->high_at, high->high});
                way = Way::down;
                low = &bin;
                continue;
            }
        }
        if (way != Way::up) {
            if (bin.low < low->low) {
                low = &bin;
            } else if (bin.high > low->low + least) {
                turns.lows.push_back({low->low_at, low->low});
                way = Way::up;
                high = &bin;
            }
        }
    }
    if (way == Way::down) turns.lows.push_back({low->low_at, low->low});
    return turns;
}

}  // namespace memscope
