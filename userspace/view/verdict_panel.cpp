#include <fmt/format.h>

#include "analysis/targets/scope_sentence.h"
#include "base/text.h"
#include "outputs/text/text_layout.h"
#include "view/panels.h"

namespace memscope::view {
namespace {

struct Sentence {
    std::string text{};
    Style style = Style::plain;
};

// Splits a text into sentences. A sentence ends with a full stop and a space, so a full stop inside a word ("train.py")
// does not end it.
std::vector<std::string> sentences_of(std::string_view text) {
    std::vector<std::string> sentences;
    while (!text.empty()) {
        const auto stop = text.find(". ");
        const std::size_t end = stop == std::string_view::npos ? text.size() : stop + 1;
        sentences.emplace_back(trimmed(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return sentences;
}

std::vector<Line> rows_of(const std::string& text, Style style, std::size_t width) {
    std::vector<Line> lines;
    for (const std::string& row : wrapped_lines(text, width > 2 ? width - 2 : 1))
        lines.push_back(Line{}.add(" " + row, style));
    return lines;
}

// As many whole sentences as fit. `all` becomes false if a sentence is left out.
std::vector<Line> fitted(const std::vector<Sentence>& sentences, std::size_t width, std::size_t rows, bool& all) {
    std::vector<Line> done;  // paragraphs that are complete
    std::vector<Line> current;
    std::string paragraph;
    Style style = Style::plain;
    for (const Sentence& sentence : sentences) {
        const bool joins = !paragraph.empty() && sentence.style == style;
        const std::string text = joins ? paragraph + " " + sentence.text : sentence.text;
        auto lines = rows_of(text, sentence.style, width);
        const std::size_t before = joins ? done.size() : done.size() + current.size();
        if (before + lines.size() > rows) {
            all = false;
            break;
        }
        if (!joins) done.insert(done.end(), current.begin(), current.end());
        current = std::move(lines);
        paragraph = text;
        style = sentence.style;
    }
    done.insert(done.end(), current.begin(), current.end());
    return done;
}

// The first part of the sentence that names the holders: "`trainer.val_outputs` (list)". Empty if it begins with
// another cause.
std::string holder_of(const ScopeVerdict& verdict) {
    if (!verdict.holders.starts_with('`')) return {};
    const auto end = verdict.holders.find(" has grown");
    return end == std::string::npos ? std::string() : printable(verdict.holders.substr(0, end));
}

// A short form of a leak, for a screen that has no room for the explanation. Short sentences, the most important first.
std::vector<Sentence> short_form(const ScopeVerdict& verdict) {
    const Judgement& judged = verdict.judgement;
    if (judged.verdict != Verdict::leaking) return {};
    std::vector<Sentence> short_sentences;
    const double per_minute = std::max(judged.floor_slope, 0.0) * 60;
    std::string what = "Leaks " + human_size({static_cast<std::uint64_t>(per_minute)}) + "/min";
    if (verdict.grower) {
        std::string who = role_text(verdict.grower->role, 1);
        if (who.starts_with("The ")) who.front() = 't';  // not at the beginning of the sentence
        what += fmt::format(" in {} (pid {})", who, verdict.grower->pid);
    }
    short_sentences.push_back({what + "."});
    // Names the line that keeps the memory, not the line that touched it first, because that line need not be the
    // owner.
    if (verdict.lines && verdict.lines->keeps)
        short_sentences.push_back({printable(verdict.lines->most) + " keeps it."});
    if (const std::string holder = holder_of(verdict); !holder.empty())
        short_sentences.push_back({"It is in " + holder + "."});
    return short_sentences;
}

}  // namespace

std::vector<Line> verdict_panel(const TargetSnapshot& target, std::size_t width, std::size_t rows) {
    std::vector<Sentence> sentences;
    for (const ScopeVerdict& verdict : target.verdicts) {
        const bool whole = verdict.scope == VerdictScope::target;
        if (!whole && !adds_to(target, verdict)) continue;
        for (std::string& text : sentences_of(printable(verdict.explanation)))
            sentences.push_back({std::move(text), whole ? Style::plain : Style::dim});
    }
    bool all = true;
    auto lines = fitted(sentences, width, rows, all);
    if (all || target.verdicts.empty()) return lines;
    bool ignored = true;
    auto shorter = fitted(short_form(target.verdicts.front()), width, rows, ignored);
    return shorter.empty() ? lines : shorter;
}

std::vector<Line> unsharing_panel(const TargetSnapshot& target, const State& state, std::size_t width,
                                  std::size_t rows) {
    const auto found = state.unsharing.find(target.info.name);
    if (found == state.unsharing.end() || found->second.confirmed || rows == 0 || says_unsharing(target)) return {};
    Line tail;
    tail.add(" x", Style::bold).add(" seen ", Style::dim);
    const std::size_t room = width > tail.width() + 1 ? width - tail.width() - 1 : 1;
    auto lines = rows_of(printable(found->second.text) + ".", Style::warn, room);
    if (lines.size() > rows) lines.resize(rows);
    lines.back() = spread(std::move(lines.back()), tail, width);
    return lines;
}

}  // namespace memscope::view
