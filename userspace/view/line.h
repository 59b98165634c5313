#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace memscope::view {

// The meaning of a piece of text. The terminal decides its look.
enum class Style { plain, bold, dim, good, warn, bad, anon, shmem, file, kernel, other };

struct Span {
    std::string text{};  // valid UTF-8 without controls
    Style style = Style::plain;
};

// One row of the screen. Each span starts at the column where the ones before it end, by `display_width`.
struct Line {
    std::vector<Span> spans{};
    bool selected = false;

    Line& add(std::string text, Style style = Style::plain) {
        if (!text.empty()) spans.push_back({std::move(text), style});
        return *this;
    }
    std::size_t width() const;
    std::string text() const;
};

Line cut_to(Line line, std::size_t width);
// `tail` ends at the right edge. If both do not fit, `head` is cut, then left out.
Line spread(Line head, const Line& tail, std::size_t width);

// A bar whose parts have styles of their own; the rest is a dim track.
struct BarSpan {
    double share = 0;  // 0 to 1
    const char* glyph = "█";
    Style style = Style::plain;
};
void add_bar(Line& line, std::size_t width, const std::vector<BarSpan>& parts);

}  // namespace memscope::view
