#include "review/run_text.h"

#include <cmath>
#include <ctime>
#include <fmt/format.h>

#include "base/text.h"
#include "outputs/growth/growth_text.h"
#include "outputs/json/json_writer.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kMostEvents = 30;
constexpr std::size_t kMostSites = 5;

std::string count_of(std::size_t n, std::string_view one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

std::string story(const RunSummary& run) {
    std::string text = fmt::format("{} was recorded for {} from {} on.", printable(run.target),
                                   human_duration(run.length), clock_text(run.began));
    if (run.judgement) {
        text += fmt::format(" The verdict is {}.", word(run.judgement->verdict));
        if (!run.explanation.empty()) text += " " + printable(run.explanation);
    }
    text += fmt::format(" It held at most {}, at {}", human_size(run.peak.bytes), clock_text(run.peak.time));
    if (run.limit)
        text += fmt::format("; the nearest limit was {} ({})", human_size(*run.limit), printable(run.limit_owner));
    text += ".";
    if (run.judgement)
        text += fmt::format(" Its floor was {}, and the floor changed by {}.", human_size(run.judgement->floor),
                            human_rate(run.judgement->floor_slope));
    const auto deaths = run.events_of("death"), precursors = run.events_of("precursor"),
               actions = run.events_of("action");
    text += deaths.empty() ? " No process died." : fmt::format(" There were {}.", count_of(deaths.size(), "death"));
    if (!precursors.empty())
        text += fmt::format(" There were {}, and memscope ran {}.", count_of(precursors.size(), "precursor"),
                            count_of(actions.size(), "action"));
    return text;
}

std::string event_lines(const RunSummary& run) {
    std::string text;
    std::size_t shown = 0, left_out = 0;
    for (const RecordedEvent& event : run.events) {
        if (event.kind == "notice" || event.kind == "precursor_over") continue;  // details of the others
        if (++shown > kMostEvents) {
            ++left_out;
            continue;
        }
        text += fmt::format("  {}  {:<10} {}\n", clock_text(event.time), printable(event.kind), printable(event.text));
    }
    if (left_out > 0) text += fmt::format("  and {} more\n", left_out);
    return text;
}

std::string site_lines(const Growth& growth) {
    std::string text = growth.sentence.empty() ? "" : wrapped(printable(growth.sentence), 80);
    for (std::size_t i = 0; i < kMostSites && i < growth.resident.sites.size(); ++i) {
        const GrowthSite& site = growth.resident.sites[i];
        text +=
            fmt::format("  {:>10}  {:<16} {}\n", human_growth(site.bytes), role_text(site.role), site_line(site, 70));
    }
    return text;
}

}  // namespace

std::string clock_text(double unix_seconds) {
    const auto seconds = static_cast<std::time_t>(std::isfinite(unix_seconds) ? unix_seconds : 0);
    std::tm at{};
    ::localtime_r(&seconds, &at);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday, at.tm_hour,
                       at.tm_min, at.tm_sec);
}

std::string run_text(const RunSummary& run, bool colour) {
    const Paint paint(colour);
    std::string text = wrapped(story(run), 80);
    const auto section = [&](std::string_view title, const std::string& body) {
        if (!body.empty()) text += "\n" + paint(Colour::bold, title) + "\n" + body;
    };
    std::string roles;
    for (const auto& [name, part] : run.roles)
        roles += fmt::format(
            "  {:<24} {:>10}  {}\n", name, human_size(part.peak),
            fmt::format("at most {}",
                        part.most_processes == 1 ? "1 process" : fmt::format("{} processes", part.most_processes)));
    section("HIGHEST OWN MEMORY BY ROLE", roles);
    std::string gpus;
    for (const auto& [gpu, bytes] : run.gpus)
        gpus += fmt::format("  {:<44} {:>10}\n", gpu.empty() ? "unknown device" : printable(gpu), human_size(bytes));
    section("HIGHEST GPU MEMORY", gpus);
    section("EVENTS", event_lines(run));
    if (run.growth) section("GROWTH BY LINE, AT THE END", site_lines(*run.growth));
    return text;
}

std::string run_json(const RunSummary& run) {
    JsonWriter json;
    json.object([&] {
        json.field("target", run.target);
        json.field("version", run.version);
        json.field("begin", run.began);
        json.field("length_seconds", run.length);
        json.field("ticks", run.ticks);
        json.field("peak_bytes", run.peak.bytes);
        json.field("peak_time", run.peak.time);
        json.field("kernel_peak_bytes", run.kernel_peak);
        json.field("limit_bytes", run.limit);
        if (run.judgement) json.object("verdict", [&] { write_verdict(json, *run.judgement, {}, run.explanation); });
        json.field("processes", run.most_processes);
        json.object("roles", [&] {
            for (const auto& [name, part] : run.roles)
                json.object(name, [&] {
                    json.field("peak_bytes", part.peak);
                    json.field("processes", part.most_processes);
                });
        });
        json.object("gpus", [&] {
            for (const auto& [gpu, bytes] : run.gpus) json.field(gpu, bytes);
        });
        json.list("events", [&] {
            for (const RecordedEvent& event : run.events)
                json.object([&] {
                    json.field("time", event.time);
                    json.field("kind", event.kind);
                    json.field("text", event.text);
                });
        });
    });
    return json.text() + "\n";
}

}  // namespace memscope
