#include "analysis/growth/early_lines.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::int64_t kLittleKept = 4 << 20;  // bytes; less may be given back in the next moment

}  // namespace

void EarlyLines::look_at(Seconds now, std::span<const LineGrowth> lines) {
    last_ = now;
    text_.clear();
    const LineGrowth* most = nullptr;
    std::int64_t all = 0;
    for (const LineGrowth& line : lines) {
        all += std::max<std::int64_t>(line.kept, 0);
        if (!most || line.kept > most->kept) most = &line;
    }
    if (!most || most->kept < kLittleKept || most->kept < all / 2) return;
    text_ = fmt::format("{} keeps at least {} more than when watching began.", printable(most->place),
                        human_size(Bytes{static_cast<std::uint64_t>(most->kept)}));
}

}  // namespace memscope
