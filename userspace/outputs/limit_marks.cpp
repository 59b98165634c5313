#include "outputs/limit_marks.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "analysis/limit_text.h"

namespace memscope {
namespace {

constexpr std::array kMarks = {50, 75, 90, 95};  // percent of the limit
constexpr int kRelief = 90;                      // being below this mark again is told
constexpr double kClearly = 5;                   // points of percent
constexpr double kLongEnough = 60;               // seconds

double percent(const EffectiveLimit& limit) { return 100 * limit.held_share(); }

// The highest mark that is reached, or missed by less than `margin` points; 0: none.
int highest_mark(double percent, double margin = 0) {
    const auto mark = std::find_if(kMarks.rbegin(), kMarks.rend(), [&](int m) { return percent >= m - margin; });
    return mark == kMarks.rend() ? 0 : *mark;
}

// The limit of that owner as it stands now, whether or not it is the effective one.
std::optional<EffectiveLimit> limit_of(const std::string& owner, const MemoryState& memory) {
    if (memory.effective && memory.effective->owner == owner) return memory.effective;
    const auto found = std::ranges::find(memory.candidates, owner, &LimitCandidate::owner);
    return found == memory.candidates.end() ? std::nullopt : std::optional(as_limit(*found));
}

// What stands below the limit of an ancestor or of the host is not all the target's.
std::string held_text(const EffectiveLimit& limit, const MemoryState& memory) {
    std::string text = human_size(limit.held()) + " of unreclaimable memory";
    if (limit.owner == "own") return text;
    return text + fmt::format(" ({} of it by this job)", human_size(std::min(limit.held(), memory.held())));
}

}  // namespace

std::optional<std::string> LimitMarks::rise(double time, const EffectiveLimit& limit, const MemoryState& memory,
                                            Marks& marks) {
    const double now = percent(limit);
    if (now < marks.relieved) marks.above_since.reset();
    if (now < marks.relieved - kClearly) marks.relieved = 0;
    const int mark = highest_mark(now);
    if (mark <= marks.told) return std::nullopt;
    if (mark == marks.relieved) {  // not left clearly: it may waver slowly
        if (!marks.above_since) marks.above_since = time;
        if (time - *marks.above_since < kLongEnough) return std::nullopt;
    }
    marks = {.told = mark};
    return fmt::format("{}, above {} % of {} ({}); {} of headroom", held_text(limit, memory), mark,
                       limit_name(limit.owner), human_size(limit.limit), human_size(limit.headroom));
}

std::optional<std::string> LimitMarks::relief(double time, const EffectiveLimit& limit, Marks& marks) {
    const double now = percent(limit);
    if (now >= marks.told) {
        marks.below_since.reset();
        return std::nullopt;
    }
    if (!marks.below_since) marks.below_since = time;
    const bool clearly = now < marks.told - kClearly;
    if (!clearly && time - *marks.below_since < kLongEnough) return std::nullopt;
    const int left = marks.told;
    // Lower marks that are missed by little have not been left either.
    marks.told = clearly ? highest_mark(now, kClearly) : highest_mark(now);
    marks.below_since.reset();
    if (!clearly) marks.relieved = left;
    if (left < kRelief || marks.told >= kRelief) return std::nullopt;
    return fmt::format("{} of unreclaimable memory, fell below {} % of {} ({})", human_size(limit.held()), kRelief,
                       limit_name(limit.owner), human_size(limit.limit));
}

std::vector<std::string> LimitMarks::tell(double time, const MemoryState& memory) {
    std::vector<std::string> lines;
    const auto add = [&](std::optional<std::string> line) {
        if (line) lines.push_back(*std::move(line));
    };
    std::erase_if(limits_, [&](const auto& entry) { return !limit_of(entry.first, memory); });
    for (auto& [owner, marks] : limits_)
        if (marks.told > 0) add(relief(time, *limit_of(owner, memory), marks));
    if (memory.effective) add(rise(time, *memory.effective, memory, limits_[memory.effective->owner]));
    return lines;
}

}  // namespace memscope
