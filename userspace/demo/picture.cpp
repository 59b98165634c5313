#include "demo/picture.h"

#include <fmt/format.h>
#include <vector>

#include "base/text.h"
#include "outputs/growth/growth_text.h"
#include "outputs/text/curve.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kRows = 12;
constexpr std::size_t kName = 10;

std::string curve_of(const Observation& seen, Bytes limit, std::size_t width) {
    std::vector<CurvePoint> points;
    for (const Point& point : held_line(seen)) points.push_back({point.at.count(), point.size});
    CurveLook look{.width = width, .height = kRows, .limit = limit, .first = "0 s"};
    look.last = human_duration(seen.back().at);
    for (const SeenKill& kill : kills_of(seen)) look.marks.push_back(kill.at.count());
    return curve_text(draw_curve(points, look));
}

// "leaks     the trainer ...", with the later lines below the first.
std::string fact(std::string_view name, std::string_view text, std::size_t width) {
    std::string out;
    for (const std::string& line : wrapped_lines(text, width - kName)) {
        out += out.empty() ? left(name, kName) : std::string(kName, ' ');
        out += line + "\n";
    }
    return out;
}

std::string grower_text(const Grower& grower, const Moment& moment) {
    std::string title = printable(grower.comm);
    for (const Member& member : moment.members)
        if (member.pid == grower.pid) title = member.title;
    std::string text = fmt::format("{}, pid {}: {}", role_text(grower.role), grower.pid, title);
    if (grower.levels > 0)
        text +=
            fmt::format(", {} level{} below {}", grower.levels, grower.levels == 1 ? "" : "s", printable(grower.top));
    return text;
}

std::string death_text(const Observation& seen, Bytes limit) {
    const auto kills = kills_of(seen);
    if (!kills.empty())
        return fmt::format("killed by the kernel {} time{} (╳), at the limit of {}", kills.size(),
                           kills.size() == 1 ? "" : "s", human_size(limit));
    if (const auto& left = seen.back().full_in)
        return fmt::format("at this rate the limit of {} is reached {} after the end of the demo", human_size(limit),
                           human_duration(*left));
    return {};
}

}  // namespace

std::string picture(const Observation& seen, Bytes limit, std::size_t width) {
    if (seen.empty()) return {};
    std::string text = curve_of(seen, limit, width);
    const Moment* judged = judged_moment(seen);
    if (!judged || judged->verdict != Verdict::leaking) return text;
    const Moment& last = *judged;
    text += "\n";
    // If the verdict names a cause, for example free memory that malloc keeps or copies of shared pages, the objects of
    // the job do not leak.
    if (last.grower) text += fact(last_cause(seen) ? "grows" : "leaks", grower_text(*last.grower, last), width);
    if (last.leaks_since)
        text += fact("since", human_duration(*last.leaks_since) + " after memscope began to watch", width);
    if (const auto lines = leaking_lines(seen))
        text += fact("line", fmt::format("{} keeps {:.0f} % of the growth", printable(lines->most), 100 * lines->share),
                     width);
    if (const std::string holders = last_holders(seen); !holders.empty())
        text += fact("held by", printable(holders), width);
    if (const std::string death = death_text(seen, limit); !death.empty()) text += fact("dies", death, width);
    return text;
}

}  // namespace memscope
