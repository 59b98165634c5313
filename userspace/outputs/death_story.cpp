#include "outputs/death_story.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/attribution.h"
#include "base/text.h"
#include "outputs/death_text.h"
#include "outputs/growth_text.h"
#include "outputs/status_text.h"
#include "outputs/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kMostDeaths = 12;
constexpr std::size_t kMostSites = 5;
constexpr std::size_t kIndent = 2;

std::string heading(const Paint& paint, std::string_view title) { return "\n" + paint(Colour::bold, title) + "\n"; }

std::string indented(const std::string& text, std::size_t first, std::size_t rest) {
    std::string out;
    std::size_t indent = first;
    for (const std::string& line : wrapped_lines(text, kWidth - rest)) {
        out += std::string(indent, ' ') + line + "\n";
        indent = rest;
    }
    return out;
}

std::string what_happened(const DeathReport& report, const Paint& paint) {
    const TargetSnapshot& target = report.target();
    std::string out;
    for (const std::string& line : wrapped_lines(death_sentence(report.decisive()), kWidth))
        out += paint(Colour::red, line) + "\n";
    const std::string where = fmt::format("{}, {} ({})", date_and_time(report.decisive().time),
                                          printable(target.info.name), printable(target.info.kind));
    out += paint(Colour::dim, shortened_to(where, kWidth)) + "\n";
    if (report.unreported > 0)
        out += fmt::format("{} deaths before this one made no report: there were too many.\n", report.unreported);
    return out;
}

// "-45 s", "-12 min": how long before the death.
std::string before(double seconds) {
    if (seconds < 0.5) return "0";
    return "-" + human_duration(Seconds(seconds));
}

std::string timeline(const DeathReport& report, const Paint& paint) {
    std::vector<PastEvent> events = report.events;
    const double end = report.decisive().time;
    const bool told =
        std::ranges::any_of(events, [&](const PastEvent& event) { return event.kind == "death" && event.time == end; });
    if (!told) events.push_back({end, "death", death_sentence(report.decisive())});
    std::ranges::stable_sort(events, {}, &PastEvent::time);
    constexpr std::size_t kText = kIndent + 8 + 2 + 8 + 2;
    std::string out = heading(paint, "WHAT CAME WHEN (UTC)");
    for (const PastEvent& event : events) {
        const std::string head =
            std::string(kIndent, ' ') + time_of_day(event.time) + "  " + right(before(end - event.time), 8) + "  ";
        const std::string text = indented(printable(event.text), 0, kText);
        out += head + text;
    }
    return out;
}

// The highest of each column, from the lowest to the highest of all: what rises in one screen looks the same for all
// sizes, so the numbers stand beside it.
std::string curve(const std::vector<HeldPoint>& series) {
    constexpr std::size_t kColumns = 60;
    constexpr const char* kGlyphs[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (series.size() < 2 || !(series.back().time > series.front().time)) return {};
    const double began = series.front().time;
    const double length = series.back().time - began;
    std::vector<std::optional<Bytes>> columns(kColumns);
    for (const HeldPoint& point : series) {
        const double place = std::clamp((point.time - began) / length, 0.0, 1.0);
        auto& column = columns[static_cast<std::size_t>(place * (kColumns - 1))];
        column = std::max(column.value_or(point.held), point.held);
    }
    const auto [low, high] = std::ranges::minmax_element(series, {}, &HeldPoint::held);
    const double range = std::max(static_cast<double>((high->held - low->held).n), 1.0);
    std::string drawn;
    Bytes height = series.front().held;
    for (const auto& column : columns) {
        height = column.value_or(height);  // it goes on as it was until the next sample
        drawn += kGlyphs[static_cast<std::size_t>(static_cast<double>((height - low->held).n) / range * 7)];
    }
    return fmt::format("  {}\n  held {} to {} in the last {}, {} at the end\n", drawn, human_size(low->held),
                       human_size(high->held), human_duration(Seconds(length)), human_size(series.back().held));
}

std::string who_died(const DeathReport& report, const Paint& paint) {
    const std::uint64_t all = report.deaths.size() + report.deaths_left_out;
    if (all < 2) return {};
    std::string out = heading(paint, "WHO DIED");
    const std::size_t shown = std::min(report.deaths.size(), kMostDeaths);
    for (std::size_t i = 0; i < shown; ++i) {
        const Death& death = report.deaths[i];
        out += right(std::to_string(death.id.pid), 7) + "  " + left(printable(death.comm), 16) + " " +
               left(role_text(death.role), 21) + " " + left(name_of(death.cause), 13) + " " +
               right(death.rss_anon ? human_size(*death.rss_anon) : "-", 8) + "\n";
    }
    if (all > shown) out += fmt::format("{:9}... and {} more\n", "", all - shown);
    return out;
}

std::string what_grew(const DeathReport& report, const Paint& paint) {
    if (!report.growth) return {};
    const auto sites = merged_by_line(report.growth->resident.sites);
    std::string out = heading(paint, "WHAT GREW");
    out += "  where memory was first touched since watching began, by call site\n";
    std::size_t shown = 0;
    for (const GrowthSite& site : sites) {
        if (site.bytes <= 0 || ++shown > kMostSites) break;
        out += right(human_growth(site.bytes), 10) + "  " + left(role_text(site.role), 19) + " " +
               site_line(site, kWidth - 32) + "\n";
    }
    if (shown == 0) out += "  nothing that could be named\n";
    return out;
}

std::string what_to_do(const DeathReport& report, const Paint& paint) {
    if (report.advice.empty()) return {};
    std::string out = heading(paint, "WHAT TO DO");
    for (const std::string& sentence : report.advice) out += "- " + indented(printable(sentence), 0, 2);
    return out;
}

}  // namespace

std::string death_story(const DeathReport& report, bool colour) {
    const Paint paint(colour);
    std::string out =
        what_happened(report, paint) + timeline(report, paint) + curve(report.series) + who_died(report, paint);
    const Seconds age(std::max(0.0, report.decisive().time - report.then.time));
    out += heading(paint,
                   fmt::format("WHO HELD WHAT, {} BEFORE", age < Seconds{1} ? "LESS THAN 1 s" : human_duration(age)));
    out += status_text(report.then, report.target(), colour);
    if (report.processes_left_out > 0)
        out += fmt::format("{} smaller processes are not in the report, {}\n", report.processes_left_out,
                           human_size(report.left_out_resident));
    return out + what_grew(report, paint) + what_to_do(report, paint);
}

}  // namespace memscope
