#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace memscope {

// Widths of whole texts, in columns.
inline constexpr std::size_t kNarrowestText = 40;  // a narrower terminal gets lines that are too long for it
inline constexpr std::size_t kUsualText = 100;     // of tables, if the width of the terminal is not known
inline constexpr std::size_t kWidestText = 120;    // sentences that are longer are hard to read
inline constexpr std::size_t kStoredText = 80;     // of text that is kept and shown again on another terminal

// Columns that valid UTF-8 takes on a terminal. Wide scripts take two. If terminals disagree, the larger number counts,
// so that a line is never too long. Does not handle colour sequences: add colour after the layout.
std::size_t display_width(std::string_view text);

// Exactly `width` columns: padded with spaces, or cut with "…" at its end.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);
std::string shortened_to(std::string_view text, std::size_t width);  // cut only

// Lines of at most `width` columns, broken at spaces; a word that is longer is cut.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width);
// The same lines as one text, each with a newline at its end.
std::string wrapped(std::string_view text, std::size_t width = kStoredText);

// A bar of `width` columns; each part takes its share (0 to 1) of it, the rest is filled with `empty`.
struct BarPart {
    double share = 0;
    std::string_view glyph{};
};
std::string bar(std::size_t width, const std::vector<BarPart>& parts, std::string_view empty);

enum class Colour { none, bold, dim, green, yellow, red };
// Adds terminal colour to text if colour is on.
class Paint {
  public:
    explicit Paint(bool on) : on_(on) {}
    std::string operator()(Colour colour, std::string_view text) const;

  private:
    bool on_;
};

}  // namespace memscope
