#include "outputs/text/curve.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kLabel = 9;  // "1023 MiB" and a space
constexpr std::size_t kDotColumns = 2;
constexpr std::size_t kDotRows = 4;

// The dots of the area of the curve. Rows count from the top.
class Canvas {
  public:
    Canvas(std::size_t columns, std::size_t rows) : columns_(columns), cells_(columns * rows, 0) {}

    void set(std::size_t x, std::size_t y) {
        // The bits of the Unicode block of braille patterns: two columns of three dots, then the lowest row.
        static constexpr unsigned kBits[kDotRows][kDotColumns] = {
            {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        cells_[y / kDotRows * columns_ + x / kDotColumns] |= kBits[y % kDotRows][x % kDotColumns];
    }
    unsigned at(std::size_t column, std::size_t row) const { return cells_[row * columns_ + column]; }
    bool is_empty(std::size_t from, std::size_t to, std::size_t row) const {
        for (std::size_t column = from; column < to; ++column)
            if (column >= columns_ || at(column, row) != 0) return false;
        return true;
    }

  private:
    std::size_t columns_;
    std::vector<unsigned> cells_;
};

std::string braille(unsigned dots) {
    const unsigned code = 0x2800U + dots;
    return {static_cast<char>(0xE0U | (code >> 12U)), static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
            static_cast<char>(0x80U | (code & 0x3FU))};
}

struct Span {
    double low = 0;
    double high = 0;
};

// The range of sizes in each column of dots. A column without a point has the size on the line between its neighbours.
std::vector<Span> spans_of(std::span<const CurvePoint> points, std::size_t columns) {
    const double from = points.front().time, length = points.back().time - from;
    std::vector<std::optional<Span>> found(columns);
    const auto column_of = [&](double time) {
        const double place = (time - from) / length * static_cast<double>(columns - 1);
        return static_cast<std::size_t>(std::clamp(std::lround(place), 0L, static_cast<long>(columns) - 1));
    };
    for (const CurvePoint& point : points) {
        const auto size = static_cast<double>(point.size.n);
        auto& column = found[column_of(point.time)];
        column = column ? Span{std::min(column->low, size), std::max(column->high, size)} : Span{size, size};
    }
    std::vector<Span> spans(columns);
    std::size_t known = 0;  // the first and the last column always have a point
    for (std::size_t i = 0; i < columns; ++i) {
        if (!found[i]) continue;
        spans[i] = *found[i];
        const double before = (spans[known].low + spans[known].high) / 2, now = (spans[i].low + spans[i].high) / 2;
        for (std::size_t gap = known + 1; gap < i; ++gap) {
            const double size =
                before + (now - before) * static_cast<double>(gap - known) / static_cast<double>(i - known);
            spans[gap] = {size, size};
        }
        known = i;
    }
    return spans;
}

Canvas paint(std::span<const CurvePoint> points, double top, std::size_t columns, std::size_t rows) {
    Canvas canvas(columns, rows);
    const std::size_t highest = rows * kDotRows - 1;
    const auto height_of = [&](double size) {
        return static_cast<std::size_t>(std::lround(std::clamp(size / top, 0.0, 1.0) * static_cast<double>(highest)));
    };
    std::size_t low_before = 0, high_before = highest;
    const auto spans = spans_of(points, columns * kDotColumns);
    for (std::size_t x = 0; x < spans.size(); ++x) {
        const std::size_t low = height_of(spans[x].low), high = height_of(spans[x].high);
        // Where the line is steep, it has no gap to the column before.
        const std::size_t from = x > 0 ? std::min(low, high_before + 1) : low;
        const std::size_t to = x > 0 && low_before > 0 ? std::max(high, low_before - 1) : high;
        for (std::size_t y = from; y <= to; ++y) canvas.set(x, highest - y);
        low_before = low;
        high_before = high;
    }
    return canvas;
}

void add(CurveRow& row, std::string text, CurvePart part) {
    if (text.empty()) return;
    if (!row.empty() && row.back().part == part)
        row.back().text += text;
    else
        row.push_back({std::move(text), part});
}

CurveRow time_axis(std::span<const CurvePoint> points, std::size_t columns, const std::vector<double>& marks) {
    std::vector<bool> marked(columns, false);
    const double from = points.front().time, length = points.back().time - from;
    for (const double mark : marks) {
        const double place = (mark - from) / length * static_cast<double>(columns - 1);
        if (place >= -0.5 && place < static_cast<double>(columns) - 0.5)
            marked[static_cast<std::size_t>(std::lround(std::max(place, 0.0)))] = true;
    }
    CurveRow row;
    add(row, right("0 ", kLabel) + "└", CurvePart::axis);
    for (std::size_t i = 0; i < columns; ++i)
        add(row, marked[i] ? "╳" : "─", marked[i] ? CurvePart::mark : CurvePart::axis);
    return row;
}

CurveRow time_labels(const CurveLook& look, std::size_t columns) {
    const std::size_t first = display_width(look.first), last = display_width(look.last);
    std::string text(kLabel + 1, ' ');
    text += first + last < columns ? look.first + std::string(columns - first - last, ' ') + look.last
                                   : right(look.last, columns);
    return {{std::move(text), CurvePart::axis}};
}

std::size_t limit_row(double share_of_top, std::size_t rows) {
    const double row = (1 - share_of_top) * static_cast<double>(rows);
    return std::min(static_cast<std::size_t>(std::max(row, 0.0)), rows - 1);
}

std::string limit_text(Bytes limit, const char* rest) { return " limit " + human_size(limit) + " " + rest; }

}  // namespace

std::vector<CurveRow> draw_curve(std::span<const CurvePoint> points, const CurveLook& look) {
    if (points.size() < 2 || points.back().time <= points.front().time) return {};
    if (look.width < kLeastCurveWidth || look.height < kLeastCurveHeight) return {};
    const std::size_t columns = look.width - kLabel - 1;
    const std::size_t rows = look.height - 2;
    const auto highest = static_cast<double>(std::ranges::max(points, {}, &CurvePoint::size).size.n);
    const double limit = look.limit ? static_cast<double>(look.limit->n) : 0;
    const bool near = look.limit && highest >= limit / 8;
    const double top = std::max({near ? limit : 1.1 * highest, highest, 1.0});
    const Canvas canvas = paint(points, top, columns, rows);

    std::vector<CurveRow> drawn;
    for (std::size_t y = 0; y < rows; ++y) {
        CurveRow row;
        const bool labelled = y == 0 || y == rows / 2;
        const double level = top * (1 - static_cast<double>(y) / static_cast<double>(rows));
        const std::string label = labelled ? human_size({static_cast<std::uint64_t>(level)}) + " " : std::string();
        add(row, right(label, kLabel) + (labelled ? "┤" : "│"), CurvePart::axis);
        const bool dashed = near && y == limit_row(limit / top, rows);
        const std::string note = dashed                          ? limit_text(*look.limit, "")
                                 : look.limit && !near && y == 0 ? limit_text(*look.limit, "is far above ")
                                                                 : std::string();
        for (std::size_t x = 0; x < columns;) {
            const std::size_t width = display_width(note);
            if (x == 2 && width > 0 && canvas.is_empty(x, x + width, y)) {
                add(row, note, CurvePart::limit);
                x += width;
                continue;
            }
            const unsigned dots = canvas.at(x++, y);
            add(row,
                dots != 0 ? braille(dots)
                : dashed  ? "╌"
                          : " ",
                dots != 0 ? CurvePart::curve
                : dashed  ? CurvePart::limit
                          : CurvePart::blank);
        }
        drawn.push_back(std::move(row));
    }
    drawn.push_back(time_axis(points, columns, look.marks));
    drawn.push_back(time_labels(look, columns));
    return drawn;
}

std::string curve_text(const std::vector<CurveRow>& rows) {
    std::string text;
    for (const CurveRow& row : rows) {
        std::string line;
        for (const CurvePiece& piece : row) line += piece.text;
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace memscope
