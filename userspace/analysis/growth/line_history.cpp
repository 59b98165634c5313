#include "analysis/growth/line_history.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/text.h"

namespace memscope {
namespace {

constexpr double kLittleGrowth = 1 << 20;  // bytes; an interval with less growth is ignored
constexpr double kNoticeable = 0.05;       // share of the growth of an interval; a line with less is not counted
constexpr double kFade = 0.8;              // factor for earlier growth, at each interval with growth
constexpr int kEnoughIntervals = 3;        // two may be a coincidence
// Share of the growth; if more was freed, the lines show which code allocates, not which code keeps the memory.
constexpr double kMostGivenBack = 0.5;
constexpr double kMostKept = 0.5;  // share of the growth; a line that keeps less is not named as its owner
constexpr double kNoEvidence =
    0.5;  // neutral value of GrowingLines::repeated: neither at_same_lines() nor at_new_lines()
constexpr std::size_t kMostLines = 1024;
// Bytes; a line that keeps less is not named, because it may free that much soon.
constexpr std::int64_t kLittleKept = 4 << 20;

double positive(double value) { return std::max(value, 0.0); }

}  // namespace

void LineHistory::add(Sum& sum, double grown, double repeated, double given_back) {
    if (grown < kLittleGrowth) {
        sum.given_back += given_back;  // the freed memory belongs to growth of earlier intervals
        return;
    }
    sum.recent = sum.recent * kFade + grown;
    sum.repeated = sum.repeated * kFade + repeated;
    sum.given_back = sum.given_back * kFade + given_back;
    ++sum.intervals;
}

void LineHistory::update(Seconds now, std::span<const LineGrowth> lines) {
    last_ = now;
    struct Change {
        double grown = 0;
        double repeated = 0;
        double given_back = 0;
    };
    std::map<RoleKey, Change> roles;
    Change all;
    std::map<Key, Line> seen;
    struct Grown {
        Line* line;
        double change;
        double kept;
    };
    std::vector<Grown> grew;
    for (const LineGrowth& each : lines) {
        if (seen.size() >= kMostLines) break;  // lines are sorted, largest first
        Key key{each.role, each.place};
        const auto known = lines_.find(key);
        Line line = known == lines_.end() ? Line{} : known->second;
        auto change = static_cast<double>(each.bytes) - static_cast<double>(line.bytes);
        auto kept_change = static_cast<double>(each.kept) - static_cast<double>(line.kept);
        if (run_began_ && change < 0) change = static_cast<double>(each.bytes);
        if (run_began_ && kept_change < 0) kept_change = static_cast<double>(each.kept);
        line.bytes = each.bytes;
        line.kept = each.kept;
        Line& kept = seen.insert_or_assign(std::move(key), line).first->second;
        if (first_) continue;  // it is not known when the lines of the first interval grew
        for (Change* sum : {&all, &roles[each.role]}) {
            sum->grown += positive(change);
            sum->repeated += line.times > 0 ? positive(change) : 0;
            sum->given_back += positive(-change);
        }
        if (change > 0 || kept_change != 0) grew.push_back({&kept, positive(change), kept_change});
    }
    // A line that has freed everything is missing from the list. If the list was cut, a missing line may have been cut
    // off instead.
    const bool is_cut = lines.size() > kMostLines;
    for (const auto& [key, line] : lines_) {
        if (run_began_ || is_cut || seen.contains(key)) continue;
        for (Change* sum : {&all, &roles[key.role]}) sum->given_back += positive(static_cast<double>(line.bytes));
    }
    lines_ = std::move(seen);
    first_ = false;
    run_began_ = false;
    add(all_, all.grown, all.repeated, all.given_back);
    for (const auto& [role, change] : roles) add(roles_[role], change.grown, change.repeated, change.given_back);
    if (all.grown < kLittleGrowth) return;
    for (auto& [key, line] : lines_) {
        line.recent *= kFade;
        line.recently_kept *= kFade;
    }
    for (const auto& [line, change, kept] : grew) {
        line->recent += change;
        line->recently_kept = positive(line->recently_kept + kept);
        if (change >= kNoticeable * all.grown) ++line->times;
    }
}

std::optional<GrowingLines> LineHistory::growing(const std::optional<RoleKey>& role) const {
    const auto found = role ? roles_.find(*role) : roles_.end();
    if (role && found == roles_.end()) return std::nullopt;
    const Sum& sum = role ? found->second : all_;
    if (sum.intervals < kEnoughIntervals) return std::nullopt;
    const std::pair<const Key, Line>* most = nullptr;
    const std::pair<const Key, Line>* keeper = nullptr;
    for (const auto& line : lines_)
        if (!role || line.first.role == *role) {
            if (!most || line.second.recent > most->second.recent) most = &line;
            if (!keeper || line.second.recently_kept > keeper->second.recently_kept) keeper = &line;
        }
    if (!most) return std::nullopt;
    const bool freed_much = sum.given_back > kMostGivenBack * sum.recent;
    const double grown = freed_much ? positive(sum.recent - sum.given_back) : sum.recent;
    const bool keeps = keeper->second.recently_kept >= std::max(kMostKept * grown, kLittleGrowth);
    if (freed_much && !keeps) return std::nullopt;
    const auto& [key, named] = keeps ? *keeper : *most;
    const double part = keeps ? named.recently_kept : named.recent;
    return GrowingLines{.repeated = freed_much ? kNoEvidence : std::min(sum.repeated / sum.recent, 1.0),
                        .most = key.place,
                        .share = std::min(part / std::max(grown, part), 1.0),
                        .times = named.times,
                        .keeps = keeps};
}

void EarlyLines::update(Seconds now, std::span<const LineGrowth> lines) {
    last_ = now;
    text_.clear();
    const LineGrowth* most = nullptr;
    std::int64_t all = 0;
    for (const LineGrowth& line : lines) {
        all += std::max<std::int64_t>(line.kept, 0);
        if (!most || line.kept > most->kept) most = &line;
    }
    if (!most || most->kept < kLittleKept || most->kept < all / 2) return;
    text_ = fmt::format("{} keeps at least {} more than when watching began.", printable(most->place),
                        human_size(Bytes{static_cast<std::uint64_t>(most->kept)}));
}

}  // namespace memscope
