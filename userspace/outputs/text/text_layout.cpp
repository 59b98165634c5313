#include "outputs/text/text_layout.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

// The first character of valid UTF-8, and its length in bytes.
struct Character {
    char32_t code = 0;
    std::size_t length = 1;
};
Character first_of(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) code = code << 6U | (byte(i) & 0x3FU);
    return {code, length};
}

// From U+1100 on most scripts are wide on some terminal; punctuation, arrows, boxes, blocks and
// braille are not.
std::size_t columns(char32_t code) {
    const bool narrow =
        code < 0x1100 || (code >= 0x2000 && code < 0x2600) || (code >= 0x2800 && code < 0x2900) || code == 0xFFFD;
    return narrow ? 1 : 2;
}

}  // namespace

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const Character character = first_of(text);
        width += columns(character.code);
        text.remove_prefix(character.length);
    }
    return width;
}

std::string shortened_to(std::string_view text, std::size_t width) {
    if (display_width(text) <= width) return std::string(text);
    std::string out;
    std::size_t used = 0;
    while (!text.empty()) {
        const Character character = first_of(text);
        if (used + columns(character.code) + 1 > width) break;
        used += columns(character.code);
        out += text.substr(0, character.length);
        text.remove_prefix(character.length);
    }
    return width == 0 ? out : out + "…";
}

std::string left(std::string_view text, std::size_t width) {
    std::string out = shortened_to(text, width);
    out.append(width - display_width(out), ' ');
    return out;
}

std::string right(std::string_view text, std::size_t width) {
    const std::string out = shortened_to(text, width);
    return std::string(width - display_width(out), ' ') + out;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    for (const std::string_view word : split(text, ' ')) {
        if (lines.empty() || display_width(lines.back()) + 1 + display_width(word) > width)
            lines.push_back(shortened_to(word, width));
        else
            lines.back().append(" ").append(word);
    }
    return lines;
}

std::string bar(std::size_t width, const std::vector<BarPart>& parts, std::string_view empty) {
    std::string out;
    std::size_t drawn = 0;
    double sum = 0;
    for (const BarPart& part : parts) {
        sum += std::isfinite(part.share) ? std::max(part.share, 0.0) : 0;
        auto end = static_cast<std::size_t>(std::lround(std::min(sum, 1.0) * static_cast<double>(width)));
        // A share above 0 gets at least one column, and a bar below 100 % is never drawn full.
        if (part.share > 0 && end == drawn && end < width) ++end;
        if (sum < 1 && end == width && width > 1) --end;
        for (; drawn < end; ++drawn) out += part.glyph;
    }
    for (; drawn < width; ++drawn) out += empty;
    return out;
}

std::string Paint::operator()(Colour colour, std::string_view text) const {
    constexpr std::string_view kCodes[] = {"", "1", "2", "32", "33", "31"};
    if (!on_ || colour == Colour::none) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(colour)], text);
}

std::string wrapped(std::string_view text, std::size_t width) {
    std::string out;
    for (const std::string& line : wrapped_lines(text, width)) out += line + "\n";
    return out;
}

}  // namespace memscope
