#include "review/run_text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

#include "analysis/growth/attribution.h"
#include "analysis/growth/growth_sentence.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/limits/limit_sentence.h"
#include "base/text.h"
#include "outputs/deaths/death_json.h"
#include "outputs/deaths/death_text.h"
#include "outputs/growth/growth_json.h"
#include "outputs/growth/growth_text.h"
#include "outputs/heap/objects_json.h"
#include "outputs/heap/objects_text.h"
#include "outputs/json/json_writer.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kMostEvents = 30;
constexpr std::size_t kMostSites = 5;
constexpr std::size_t kMostNamed = 3;  // in the first paragraph

std::string count_of(std::size_t n, std::string_view one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

// The time of day, with the date if it is not the day on which the run began.
std::string when(const RunSummary& run, double time) {
    const std::string text = clock_text(time), began = clock_text(run.began);
    constexpr std::size_t kDate = 11;  // "2026-11-15 "
    return text.substr(0, kDate) == began.substr(0, kDate) ? text.substr(kDate) : text;
}

std::string peak_sentences(const RunSummary& run) {
    std::string text = fmt::format(" It held at most {}, at {}", human_size(run.peak.bytes), when(run, run.peak.time));
    if (run.limit)
        text += fmt::format("; the nearest limit was {} ({})", human_size(*run.limit),
                            printable(limit_name(run.limit_owner)));
    text += ".";
    if (run.kernel_peak && run.kernel_peak_time)
        text += fmt::format(" The kernel's high-water mark was {}, page cache included, reached by {}.",
                            human_size(*run.kernel_peak), when(run, *run.kernel_peak_time));
    else if (run.kernel_peak)
        text += fmt::format(" The kernel's high-water mark of {} is from before the recording.",
                            human_size(*run.kernel_peak));
    return text;
}

std::string phase_sentences(const RunSummary& run) {
    if (!run.judgement || run.judgement->verdict == Verdict::insufficient) return {};
    std::string text;
    if (run.warmup_ended && run.plateau_peak)
        text += fmt::format(" The warm-up ended at {}; after it the job held at most {}.", when(run, *run.warmup_ended),
                            human_size(run.plateau_peak->bytes));
    return text + fmt::format(" Its floor was {}, and the floor changed by {}.", human_size(run.judgement->floor),
                              human_rate(run.judgement->floor_slope));
}

std::string death_sentences(const RunSummary& run) {
    const std::size_t deaths = run.deaths.empty() ? run.events_of("death").size() : run.deaths.size() + run.more_deaths;
    if (deaths == 0) return " No process died.";
    std::string text = fmt::format(" There {} {}.", deaths == 1 ? "was" : "were", count_of(deaths, "death"));
    if (run.last_death) text += " " + death_text(run.last_death->decisive());
    return text;
}

// The precursors, and the commands that memscope ran.
std::string precursor_sentences(const RunSummary& run) {
    std::string text;
    std::size_t named = 0;
    for (const RunSummary::ActivePrecursor& each : run.precursors) {
        if (++named > kMostNamed) break;
        const std::string how_long =
            each.until ? "for " + human_duration(Seconds(std::max(*each.until - each.since, 0.0))) : "to the end";
        text +=
            fmt::format("{}{} at {} {}", named == 1 ? "" : ", ", printable(each.kind), when(run, each.since), how_long);
    }
    if (!text.empty()) {
        if (run.precursors.size() > kMostNamed) text += fmt::format(" and {} more", run.precursors.size() - kMostNamed);
        text = fmt::format(" {} announced an OOM kill: {}.", count_of(run.precursors.size(), "precursor"), text);
    }
    if (!run.actions.empty())
        text += fmt::format(" memscope ran a command {}; the last one: {}.",
                            run.actions.size() == 1 ? std::string("once") : fmt::format("{} times", run.actions.size()),
                            printable(run.actions.back()));
    else if (!run.precursors.empty() && !run.last_death)  // a command about a death may end after the recording
        text += " memscope ran no command.";
    return text;
}

std::string story(const RunSummary& run) {
    std::string text = fmt::format("{} was recorded for {} from {} on.", printable(run.target),
                                   human_duration(run.length), clock_text(run.began));
    if (run.judgement) {
        text += fmt::format(" The verdict {} {}.", run.judged_before_death ? "before the last death was" : "is",
                            phrase(run.judgement->verdict));
        if (!run.explanation.empty()) text += " " + printable(run.explanation);
    }
    return text + peak_sentences(run) + phase_sentences(run) + death_sentences(run) + precursor_sentences(run);
}

std::string role_lines(const RunSummary& run) {
    std::string text;
    for (const auto& [name, part] : run.roles)
        text += fmt::format("  {} {}  at most {} {}\n", left(printable(name), 24), right(human_size(part.peak), 10),
                            part.most_processes, part.most_processes == 1 ? "process" : "processes");
    return text;
}

std::string gpu_lines(const RunSummary& run) {
    std::string text;
    for (const auto& [gpu, part] : run.gpus) {
        const std::string name = gpu.empty()  ? "unknown device"
                                 : part.index ? fmt::format("GPU {} ({})", *part.index, printable(gpu))
                                              : printable(gpu);
        text += fmt::format("  {} {}\n", left(name, 52), right(human_size(part.peak), 10));
        for (const auto& [role, bytes] : part.roles)
            text += fmt::format("    {} {}\n", left(printable(role), 50), right(human_size(bytes), 10));
    }
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

// The largest own lines of a plane.
std::string line_rows(std::string_view title, const GrowthPlane& plane) {
    std::string rows;
    std::size_t shown = 0;
    std::int64_t largest = 0;
    for (const OwnLine& line : own_lines(plane.sites)) {
        if (shown == 0) largest = line.site.bytes;
        // A line with less than 1 % of the largest one explains nothing.
        if (line.site.bytes <= largest / 100 || ++shown > kMostSites) break;
        rows += fmt::format("  {}  {} {}\n", right(human_growth(line.site.bytes), 10),
                            left(role_text(line.site.role), 19), site_line(line.site, kStoredText - 34));
    }
    return rows.empty() ? rows : wrapped(title, kStoredText) + rows;
}

std::string growth_lines(const RunSummary& run, const Growth& growth) {
    std::string text = growth.sentence.empty() ? "" : wrapped(printable(growth.sentence), kStoredText);
    GrowthSpan span = growth.span;
    span.peak.reset();  // the heading has it
    const std::string since = span_text(span, run.last.time);
    text += line_rows("Host tensors that were not freed, " + since + ":", growth.tensors_host);
    text += line_rows("Mapped and not unmapped, " + since + ":", growth.mapped);
    text +=
        line_rows(fmt::format("Resident: {}, {}:", resident_meaning(growth.resident_method), since), growth.resident);
    text += line_rows("GPU memory that was not freed, " + since + ":", growth.gpu);
    text += line_rows("Pinned host memory, " + since + ":", growth.pinned);
    return text;
}

std::string holder_lines(const RunSummary& run) {
    const ProcessHeap* heap = run.holders();
    if (!heap) return {};
    const HeldObjects& held = *heap->held;
    std::string sentence = holders_sentence(heap);
    if (sentence.empty()) sentence = largest_holder_sentence(held);
    if (sentence.empty() && held.holders.empty()) return {};
    std::string text = wrapped(fmt::format("{} (census of {}, pid {}, at {})", sentence, role_text(heap->role),
                                           heap->census.process.pid, when(run, held.time)),
                               kStoredText);
    if (held.holders.empty()) return text;
    const bool changes = held.over.has_value();
    text += holder_head(changes, false, kStoredText);
    std::size_t shown = 0;
    for (const HolderChange& each : held.holders) {
        if (++shown > kMostSites) break;
        text += holder_rows(each.holder, each.length_change, each.retained_change, changes, false, kStoredText);
    }
    return text;
}

std::string advice_lines(const RunSummary& run) {
    std::string text;
    for (const std::string& sentence : run.advice) {
        std::string head = "- ";
        for (const std::string& line : wrapped_lines(printable(sentence), kStoredText - 2)) {
            text += head + line + "\n";
            head = "  ";
        }
    }
    return text;
}

void write_top(JsonWriter& json, std::string_view name, const std::optional<RunSummary::Top>& top) {
    json.field(fmt::format("{}_bytes", name), top ? std::optional(top->bytes) : std::nullopt);
    json.field(fmt::format("{}_time", name), top ? std::optional(top->time) : std::nullopt);
}

void write_parts(JsonWriter& json, const RunSummary& run) {
    json.object("roles", [&] {
        for (const auto& [name, part] : run.roles)
            json.object(name, [&] {
                json.field("peak_bytes", part.peak);
                json.field("processes", part.most_processes);
            });
    });
    json.object("gpus", [&] {
        for (const auto& [gpu, part] : run.gpus)
            json.object(gpu, [&] {
                json.field("index", part.index ? std::optional<std::uint64_t>(*part.index) : std::nullopt);
                json.field("peak_bytes", part.peak);
                json.object("roles", [&] {
                    for (const auto& [role, bytes] : part.roles) json.field(role, bytes);
                });
            });
    });
}

void write_history(JsonWriter& json, const RunSummary& run) {
    json.list("deaths", [&] {
        for (const Death& death : run.deaths) json.object([&] { write_death(json, death); });
    });
    json.field("deaths_left_out", run.more_deaths);
    json.list("precursors", [&] {
        for (const RunSummary::ActivePrecursor& each : run.precursors)
            json.object([&] {
                json.field("precursor", each.kind);
                json.field("since", each.since);
                json.field("until", each.until);
                json.field("reason", each.reason);
            });
    });
    json.list("actions", [&] {
        for (const std::string& each : run.actions) json.value(each);
    });
    json.list("events", [&] {
        for (const RecordedEvent& event : run.events)
            json.object([&] {
                json.field("time", event.time);
                json.field("kind", event.kind);
                json.field("text", event.text);
            });
    });
    json.list("series", [&] {
        for (const HeldPoint& point : run.series)
            json.object([&] {
                json.field("time", point.time);
                json.field("held_bytes", point.held);
                json.field("usage_bytes", point.usage);
            });
    });
}

void write_growth(JsonWriter& json, const RunSummary& run, std::string_view name, const std::optional<Growth>& growth) {
    constexpr std::size_t kMostInJson = 20;
    if (!growth) return json.field(name, nullptr);
    json.raw_object(
        name,
        growth_json({.time = run.last.time, .target = {.name = run.target}, .growth = *growth, .top = kMostInJson}));
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
    std::string text = wrapped(story(run), kStoredText) + "\n" + curve_text(run.series);
    const auto section = [&](std::string_view title, const std::string& body) {
        if (!body.empty()) text += "\n" + paint(Colour::bold, title) + "\n" + body;
    };
    section("HIGHEST OWN MEMORY BY ROLE", role_lines(run));
    section("HIGHEST GPU MEMORY", gpu_lines(run));
    section("EVENTS", event_lines(run));
    if (run.growth) section("GROWTH BY LINE", growth_lines(run, *run.growth));
    if (run.peak_growth) section("HELD AT THE PEAK, BY LINE", growth_lines(run, *run.peak_growth));
    section("WHAT HELD THE MEMORY", holder_lines(run));
    section("WHAT TO DO", advice_lines(run));
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
        json.field("kernel_peak_time", run.kernel_peak_time);
        json.field("limit_bytes", run.limit);
        json.field("limit_owner", run.limit ? std::optional(run.limit_owner) : std::nullopt);
        json.field("warmup_ended", run.warmup_ended);
        write_top(json, "warmup_peak", run.warmup_peak);
        write_top(json, "plateau_peak", run.plateau_peak);
        if (run.judgement) json.object("verdict", [&] { write_verdict(json, *run.judgement, {}, run.explanation); });
        json.field("processes", run.most_processes);
        write_parts(json, run);
        write_history(json, run);
        write_growth(json, run, "growth", run.growth);
        write_growth(json, run, "peak_growth", run.peak_growth);
        const ProcessHeap* heap = run.holders();
        write_held(json, "holders", heap ? heap->held : std::nullopt);
        json.list("advice", [&] {
            for (const std::string& each : run.advice) json.value(each);
        });
    });
    return json.text() + "\n";
}

}  // namespace memscope
