#include "outputs/deaths/death_text.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

#include "analysis/growth/attribution.h"
#include "analysis/growth/growth_sentence.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/limits/limit_sentence.h"
#include "analysis/targets/scope_sentence.h"
#include "base/text.h"
#include "outputs/growth/growth_text.h"
#include "outputs/heap/heap_text.h"
#include "outputs/heap/objects_text.h"
#include "outputs/text/gpu_text.h"
#include "outputs/text/status_text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kLabel = 11;
constexpr std::size_t kMostAdviceLines = 4;
constexpr std::size_t kMostRoles = 4;

std::tm calendar(double unix_seconds) {
    constexpr double kYear9999 = 253402300799;
    const auto seconds = static_cast<std::time_t>(unix_seconds >= 0 ? std::min(unix_seconds, kYear9999) : 0);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    return parts;
}

// At most `most` lines. The last line ends in "…" if text was cut.
std::vector<std::string> some_lines(const std::string& text, std::size_t width, std::size_t most) {
    std::vector<std::string> lines = wrapped_lines(text, width);
    if (lines.size() > most) {
        lines.resize(most);
        lines.back() = shortened_to(lines.back() + " …", width);
        if (!lines.back().ends_with("…")) lines.back() += "…";
    }
    return lines;
}

class Block {
  public:
    void add(const std::string& label, const std::string& text, std::size_t most = 2) {
        if (text.empty()) return;
        std::string head = label;
        for (const std::string& line : some_lines(text, kStoredText - 2 - kLabel, most)) {
            lines_.push_back("  " + left(head, kLabel) + line);
            head.clear();
        }
    }
    void plain(const std::string& line) { lines_.push_back(line); }
    std::vector<std::string> lines() && { return std::move(lines_); }

  private:
    std::vector<std::string> lines_{};
};

// "3 dataloader workers", "trainer of rank 0"
std::string holder_text(const RoleKey& key, std::uint64_t processes) {
    constexpr std::string_view kArticle = "The ";
    const std::string text = role_text(key, processes);
    return text.starts_with(kArticle) ? text.substr(kArticle.size()) : text;
}

// "trainer 31 GiB, 3 dataloader workers 8.0 GiB": own memory and shared memory of each role, the largest first.
std::string holders(const TargetSnapshot& target) {
    struct Holder {
        std::string name;
        Bytes size;
    };
    std::vector<Holder> all;
    for (const auto& [key, totals] : target.roles)
        if (totals.processes > 0) all.push_back({holder_text(key, totals.processes), totals.own_anon() + totals.shmem});
    std::ranges::stable_sort(all, [](const Holder& a, const Holder& b) { return a.size > b.size; });
    std::string text;
    for (std::size_t i = 0; i < std::min(all.size(), kMostRoles); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", all[i].name, human_size(all[i].size));
    if (all.size() > kMostRoles) text += fmt::format(" and {} more roles", all.size() - kMostRoles);
    return text;
}

std::string kinds(const MemoryState& memory) {
    const MemoryByKind& kind = memory.by_kind;
    std::string text = fmt::format("anon {}, shmem {}, file {}, kernel {}", human_size(kind.anon),
                                   human_size(kind.shmem), human_size(kind.file), human_size(kind.kernel));
    if (memory.swap.n > 0) text += fmt::format(", swapped out {}", human_size(memory.swap));
    return text;
}

// Time between the tick that the block shows and the CUDA call that failed. Empty if no CUDA call failed, or if the
// tick was not before it.
std::string before_the_call(const DeathReport& report) {
    const Death& death = report.decisive();
    if (!death.gpu) return {};
    const double before = death.time - death.gpu->before_exit.count() - report.then.time;
    return before > 0 ? fmt::format("{:.1f} s before that call: ", before) : std::string();
}

// "GPU 0 (140 GiB): target 60 GiB, others 10 GiB": the GPUs on which the target held memory, and
// those in trouble. For CUDA out of memory the text begins with the age of these figures. An allocator frees its cache
// before it gives up, so the sentence above, which is about the failed call, can differ by gigabytes.
std::string gpus(const DeathReport& report) {
    std::string text;
    for (const GpuLine& gpu : gpu_lines(report.then, report.target())) {
        if (!gpu.held && gpu.trouble.empty()) continue;
        const std::string size = gpu.total ? " (" + human_size(*gpu.total) + ")" : "";
        text += fmt::format("{}{}{}: {}", text.empty() ? "" : "; ", gpu.name, size, gpu_facts(gpu));
    }
    return text.empty() ? text : before_the_call(report) + text;
}

std::string precursors(const DeathReport& report) {
    std::string text;
    for (const Precursor& precursor : report.target().precursors) {
        const Seconds age(std::max(1.0, report.decisive().time - precursor.since));
        text += fmt::format("{}{} for {}", text.empty() ? "" : ", ", name_of(precursor.kind), human_duration(age));
    }
    return text;
}

std::string companions(const DeathReport& report) {
    const std::uint64_t others = report.deaths.size() - 1 + report.deaths_left_out;
    if (others == 0) return {};
    std::string text = fmt::format("{} more {} at the same time", others, others == 1 ? "process" : "processes");
    if (report.deaths.size() > 1) {
        const Death& next = report.deaths[1];
        text += fmt::format(", {} (pid {}) among them", printable(next.comm), next.id.pid);
    }
    return text;
}

// "47 GiB used, 41 GiB of it not reclaimable, of 64 GiB ..."
std::string held_text(const DeathReport& report) {
    const MemoryState& memory = report.target().memory;
    std::string text =
        fmt::format("{} used, {} of it not reclaimable", human_size(memory.usage), human_size(memory.unreclaimable));
    if (memory.effective)
        text += fmt::format(", of {} ({})", human_size(memory.effective->limit), limit_name(memory.effective->owner));
    const double before = report.decisive().time - report.then.time;
    if (before > 0) text += fmt::format(", {} before", human_duration(Seconds(before)));
    return text;
}

std::string verdict_and_forecast(const TargetSnapshot& target) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict) return {};
    std::string text(phrase(verdict->judgement.verdict));
    if (!verdict->forecast) return text;
    const Forecast& forecast = *verdict->forecast;
    const std::string earliest = human_duration(forecast.earliest);
    return text + fmt::format("; {} was expected {} ({})",
                              forecast.limit ? limit_name(forecast.limit->owner) : "the limit",
                              forecast.eta > Seconds{} ? "in " + human_duration(forecast.eta) : "now",
                              forecast.latest ? fmt::format("{} to {}", earliest, human_duration(*forecast.latest))
                                              : "at the earliest in " + earliest);
}

}  // namespace

std::string time_of_day(double unix_seconds) {
    const std::tm at = calendar(unix_seconds);
    return fmt::format("{:02}:{:02}:{:02}", at.tm_hour, at.tm_min, at.tm_sec);
}

std::string date_and_time(double unix_seconds) {
    const std::tm at = calendar(unix_seconds);
    return fmt::format("{}-{:02}-{:02} {} UTC", at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
                       time_of_day(unix_seconds));
}

std::string death_text(const Death& death) {
    std::string text = printable(death.explanation);
    if (text.empty())
        text = fmt::format("{} (pid {}) died: {}", printable(death.comm), death.id.pid, name_of(death.cause));
    if (text.starts_with("the ")) text.front() = 'T';  // any other first word may be the name of a process
    return text.ends_with('.') ? text : text + ".";
}

std::string top_site_of(const DeathReport& report, std::size_t width) {
    if (!report.growth || !report.growth->owner) return {};
    return shortened_to(printable(report.growth->owner->place), width);
}

std::vector<std::string> death_block(const DeathReport& report, const std::string& file) {
    Block block;
    const TargetSnapshot& target = report.target();
    std::string event = printable(report.decisive().explanation);
    if (event.empty()) event = death_text(report.decisive());
    block.plain(fmt::format("{}: death: {}", printable(target.info.name), event));
    block.add("also died", companions(report), 1);
    block.add("memory", held_text(report), 2);
    block.add("", kinds(target.memory), 1);
    block.add("held by", holders(target), 1);
    block.add("heap", heap_line(target, report.decisive().time), 2);
    block.add("holders", holder_sentence(heap_that_grows(target, report.then.time)), 3);
    block.add("GPUs", gpus(report), 2);
    block.add("verdict", verdict_and_forecast(target), 1);
    block.add("precursors", precursors(report), 1);
    if (report.growth) block.add("grew", printable(report.growth->sentence), 3);
    if (!report.advice.empty()) block.add("to do", printable(report.advice.front()), kMostAdviceLines);
    // The path is not cut, because a cut path cannot be used.
    if (!file.empty()) block.plain("  " + left("details", kLabel) + "memscope report " + printable(file));
    return std::move(block).lines();
}

namespace {

constexpr std::size_t kMostDeaths = 12;
constexpr std::size_t kMostSites = 5;
constexpr std::size_t kIndent = 2;

std::string heading(const Paint& paint, std::string_view title) { return "\n" + paint(Colour::bold, title) + "\n"; }

std::string indented(const std::string& text, std::size_t first, std::size_t rest) {
    std::string out;
    std::size_t indent = first;
    for (const std::string& line : wrapped_lines(text, kStoredText - rest)) {
        out += std::string(indent, ' ') + line + "\n";
        indent = rest;
    }
    return out;
}

std::string what_happened(const DeathReport& report, const Paint& paint) {
    const TargetSnapshot& target = report.target();
    std::string out;
    for (const std::string& line : wrapped_lines(death_text(report.decisive()), kStoredText))
        out += paint(Colour::red, line) + "\n";
    const std::string where = fmt::format("{}, {} ({})", date_and_time(report.decisive().time),
                                          printable(target.info.name), printable(target.info.kind));
    out += paint(Colour::dim, shortened_to(where, kStoredText)) + "\n";
    if (report.unreported > 0)
        out += fmt::format("{} earlier {} no report, because there were too many deaths.\n", report.unreported,
                           report.unreported == 1 ? "death has" : "deaths have");
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
    const bool listed =
        std::ranges::any_of(events, [&](const PastEvent& event) { return event.kind == "death" && event.time == end; });
    if (!listed) events.push_back({end, "death", death_text(report.decisive())});
    std::ranges::stable_sort(events, {}, &PastEvent::time);
    constexpr std::size_t kText = kIndent + 8 + 2 + 8 + 2;
    std::string out = heading(paint, "TIMELINE (UTC)");
    for (const PastEvent& event : events) {
        const std::string head =
            std::string(kIndent, ' ') + time_of_day(event.time) + "  " + right(before(end - event.time), 8) + "  ";
        const std::string text = indented(printable(event.text), 0, kText);
        out += head + text;
    }
    return out;
}

}  // namespace

// Draws the highest value of each column, scaled from the lowest to the highest value of the series. A scaled curve
// looks the same for all sizes, so the line below it gives the sizes.
std::string curve_text(const std::vector<HeldPoint>& series) {
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
        height = column.value_or(height);  // a column without a sample repeats the column before it
        drawn += kGlyphs[static_cast<std::size_t>(static_cast<double>((height - low->held).n) / range * 7)];
    }
    return fmt::format("  {}\n  held {} to {} in the last {}, {} at the end\n", drawn, human_size(low->held),
                       human_size(high->held), human_duration(Seconds(length)), human_size(series.back().held));
}

namespace {

std::string who_died(const DeathReport& report, const Paint& paint) {
    const std::uint64_t all = report.deaths.size() + report.deaths_left_out;
    if (all < 2) return {};
    std::string out = heading(paint, "PROCESSES THAT DIED");
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
    const Growth& growth = *report.growth;
    const PlaneKind plane = growth.owner ? growth.owner->plane : PlaneKind::resident;
    const auto lines = own_lines(growth.plane(plane).sites);
    std::string out = heading(paint, "WHAT GREW");
    if (!growth.sentence.empty()) out += indented(printable(growth.sentence), kIndent, kIndent);
    const std::string_view meaning = plane == PlaneKind::tensors_host ? "host tensors that were not freed"
                                     : plane == PlaneKind::mapped     ? "mapped and not unmapped"
                                                                      : resident_meaning(growth.resident_method);
    std::string checked;
    if (plane == PlaneKind::resident && growth.resident_method == ResidentMethod::live)
        checked = growth.pages_checked ? fmt::format(". memscope checked {} before which pages were still there",
                                                     human_duration(*growth.pages_checked))
                                       : ". memscope had not checked yet which pages were still there";
    out += indented(fmt::format("{}, {}, by own line{}", meaning, span_text(growth.span, report.then.time), checked),
                    kIndent, kIndent);
    std::size_t shown = 0;
    for (const auto& [site, stacks] : lines) {
        if (site.bytes <= 0 || ++shown > kMostSites) break;
        out += right(human_growth(site.bytes), 10) + "  " + left(role_text(site.role), 19) + " " +
               site_line(site, kStoredText - 32) + "\n";
    }
    if (shown == 0) out += "  no call site is known\n";
    return out;
}

// The containers of Python that had grown by the last census before the death.
std::string what_held(const DeathReport& report, const Paint& paint) {
    const ProcessHeap* heap = heap_that_grows(report.target(), report.then.time);
    const std::string sentence = holder_sentence(heap);
    if (sentence.empty()) return {};
    std::string out = heading(paint, "WHAT HELD THE MEMORY");
    const Seconds age(std::max(1.0, report.decisive().time - heap->held->time));
    out += indented(fmt::format("{} (census of pid {}, {} before the death)", sentence, heap->census.process.pid,
                                human_duration(age)),
                    kIndent, kIndent);
    if (names_holder(*heap->held)) out += holder_head(true, false, kStoredText);
    for (const HolderChange& each : heap->held->holders)
        if (each.own_host > 0 || each.own_device > 0)
            out += holder_rows(each.holder, each.length_change, each.retained_change, true, false, kStoredText);
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
        what_happened(report, paint) + timeline(report, paint) + curve_text(report.series) + who_died(report, paint);
    const Seconds age(std::max(0.0, report.decisive().time - report.then.time));
    out += heading(paint, fmt::format("MEMORY OF THE JOB, {} BEFORE THE DEATH",
                                      age < Seconds{1} ? "LESS THAN 1 s" : human_duration(age)));
    out += status_text(report.then, report.target(), colour);
    if (report.processes_left_out > 0)
        out += fmt::format("{} smaller processes are not in the report, {}\n", report.processes_left_out,
                           human_size(report.left_out_resident));
    return out + what_grew(report, paint) + what_held(report, paint) + what_to_do(report, paint);
}

}  // namespace memscope
