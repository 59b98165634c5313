#include "view/line.h"

#include "outputs/text/text_layout.h"

namespace memscope::view {

std::size_t Line::width() const {
    std::size_t sum = 0;
    for (const Span& span : spans) sum += display_width(span.text);
    return sum;
}

std::string Line::text() const {
    std::string out;
    for (const Span& span : spans) out += span.text;
    return out;
}

Line cut_to(Line line, std::size_t width) {
    std::size_t room = width;
    for (std::size_t i = 0; i < line.spans.size(); ++i) {
        const std::size_t wanted = display_width(line.spans[i].text);
        if (wanted > room) {
            line.spans[i].text = shortened_to(line.spans[i].text, room);
            line.spans.resize(room > 0 ? i + 1 : i);
            break;
        }
        room -= wanted;
    }
    return line;
}

Line spread(Line head, const Line& tail, std::size_t width) {
    const std::size_t taken = tail.width();
    if (tail.spans.empty()) return cut_to(std::move(head), width);
    if (taken + 2 >= width) return cut_to(tail, width);
    head = cut_to(std::move(head), width - taken - 1);
    head.add(std::string(width - taken - head.width(), ' '));
    for (const Span& span : tail.spans) head.add(span.text, span.style);
    return head;
}

void add_bar(Line& line, std::size_t width, const std::vector<BarSpan>& parts) {
    // Draws the bar with one letter for each part, so that bar() does the rounding. Then each run of one letter becomes
    // a span.
    std::vector<BarPart> letters;
    static constexpr std::string_view kLetters = "abcdefgh";
    for (std::size_t i = 0; i < parts.size() && i < kLetters.size(); ++i)
        letters.push_back({parts[i].share, kLetters.substr(i, 1)});
    const std::string drawn = bar(width, letters, ".");
    for (std::size_t start = 0, end = 0; start < drawn.size(); start = end) {
        while (end < drawn.size() && drawn[end] == drawn[start]) ++end;
        const BarSpan track{0, "░", Style::dim};
        const auto part = kLetters.find(drawn[start]);
        const BarSpan& look = part == std::string_view::npos ? track : parts[part];
        std::string run;
        for (std::size_t i = start; i < end; ++i) run += look.glyph;
        line.add(std::move(run), look.style);
    }
}

}  // namespace memscope::view
