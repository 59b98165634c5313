#include "base/text.h"
#include "view/panels.h"

namespace memscope::view {
namespace {

Style style_of(CurvePart part) {
    switch (part) {
        case CurvePart::axis:
            return Style::dim;
        case CurvePart::curve:
            return Style::anon;
        case CurvePart::limit:
            return Style::warn;
        case CurvePart::mark:
            return Style::bad;
        case CurvePart::blank:
            break;
    }
    return Style::plain;
}

}  // namespace

std::vector<Line> curve_panel(const TargetSnapshot& target, const History& history, std::size_t width,
                              std::size_t rows) {
    const TargetCurve* curve = history.curve(target.info.name);
    if (!curve || curve->points().empty()) return {};
    const auto& points = curve->points();
    CurveLook look{.width = width > 1 ? width - 1 : 0, .height = rows, .last = "now", .marks = curve->deaths()};
    look.first = human_duration(Seconds{points.back().time - points.front().time}) + " ago";
    // Only a limit of the target itself can be compared with the curve, because other limits also count memory of other
    // cgroups.
    if (const auto& limit = target.memory.effective; limit && limit->owner == "own") look.limit = limit->limit;
    std::vector<Line> lines;
    for (const CurveRow& row : draw_curve(points, look)) {
        Line line;
        for (const CurvePiece& piece : row) line.add(piece.text, style_of(piece.part));
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace memscope::view
