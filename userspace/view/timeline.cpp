#include "view/timeline.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope::view {
namespace {

struct MarkedCell {
    const char* glyph = "─";
    Style style = Style::dim;
};

// The most important mark of a cell is drawn.
int importance(Style style) {
    switch (style) {
        case Style::bad:
            return 3;
        case Style::warn:
            return 2;
        case Style::dim:
            return 0;
        default:
            return 1;
    }
}

std::vector<MarkedCell> cells_of(const Timeline& timeline, std::size_t width) {
    std::vector<MarkedCell> cells(width);
    const auto place = [&](Seconds at) {
        const double share = timeline.length > Seconds{} ? std::clamp(at / timeline.length, 0.0, 1.0) : 1.0;
        return static_cast<std::size_t>(std::lround(share * static_cast<double>(width - 1)));
    };
    const std::size_t now = place(timeline.position);
    for (std::size_t i = 0; i < now; ++i) cells[i].glyph = "━";
    for (const Timeline::Mark& mark : timeline.marks) {
        MarkedCell& cell = cells[place(mark.at)];
        if (importance(mark.style) > importance(cell.style)) cell = {"▼", mark.style};
    }
    cells[now] = {"●", Style::bold};
    return cells;
}

}  // namespace

Line timeline_line(const Timeline& timeline, std::size_t width) {
    Line head;
    head.add(timeline.paused ? " paused  " : " ▶ ", Style::bold)
        .add(timeline.clock, Style::bold)
        .add(fmt::format("  ×{:g} ", timeline.speed), Style::dim);
    Line tail;
    tail.add(fmt::format(" {} of {} ", human_duration(timeline.position), human_duration(timeline.length)), Style::dim);
    const std::size_t taken = head.width() + tail.width();
    constexpr std::size_t kLeastBar = 8;
    if (width < taken + kLeastBar) return cut_to(std::move(head), width);
    for (const MarkedCell& cell : cells_of(timeline, width - taken)) head.add(cell.glyph, cell.style);
    for (const Span& span : tail.spans) head.add(span.text, span.style);
    return head;
}

}  // namespace memscope::view
