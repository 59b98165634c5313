#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace memscope {

// A curve of memory over time, drawn with braille dots: two columns and four rows of dots in each character.
struct CurvePoint {
    double time = 0;  // seconds, in order
    Bytes size{};
};

enum class CurvePart { blank, axis, curve, limit, mark };
struct CurvePiece {
    std::string text{};
    CurvePart part = CurvePart::blank;
};
using CurveRow = std::vector<CurvePiece>;

struct CurveLook {
    std::size_t width = 76;   // columns, labels included
    std::size_t height = 10;  // rows, with the axis of time and its labels
    // Drawn as a dashed line. If the curve stays below an eighth of the limit, a scale up to the limit would make the
    // curve flat. Then there is no line, and the row at the top names the limit.
    std::optional<Bytes> limit{};
    std::string first{};          // label of the first time
    std::string last{};           // label of the last time
    std::vector<double> marks{};  // times that are marked on the axis of time
};
inline constexpr std::size_t kLeastCurveWidth = 30;
inline constexpr std::size_t kLeastCurveHeight = 5;

// The axis of sizes starts at 0. A column shows the lowest and the highest size of its time, so that no spike is lost.
// Empty if there are fewer than two points, or if there is too little room.
std::vector<CurveRow> draw_curve(std::span<const CurvePoint> points, const CurveLook& look);

// The rows as text, each with a newline.
std::string curve_text(const std::vector<CurveRow>& rows);

}  // namespace memscope
