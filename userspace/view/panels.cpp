#include "view/panels.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <span>

#include "analysis/growth/growth_sentence.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/limits/limit_sentence.h"
#include "analysis/targets/scope_sentence.h"
#include "base/text.h"
#include "outputs/growth/growth_report.h"
#include "outputs/growth/growth_text.h"
#include "outputs/heap/heap_text.h"
#include "outputs/heap/objects_text.h"
#include "outputs/text/gpu_text.h"
#include "outputs/text/status_text.h"
#include "outputs/text/text_layout.h"
#include "view/compact.h"

namespace memscope::view {
namespace {

Style alarm(double full) { return full >= 0.9 ? Style::bad : full >= 0.75 ? Style::warn : Style::good; }

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

Line gpu_line(const GpuLine& gpu, std::size_t width) {
    Line line;
    line.add(" " + left(gpu.name, 8), Style::dim);
    if (!gpu.trouble.empty()) return line.add(gpu.trouble, Style::bad);
    if (!gpu.used || !gpu.total || gpu.total->n == 0) return line.add(gpu_facts(gpu));
    const Bytes held = gpu.held.value_or(Bytes{});
    const Style style = alarm(gpu.full());
    // The bar leaves room for the facts, because they are more precise.
    constexpr std::size_t kNarrowestBar = 6;
    constexpr std::size_t kNameAndSizes = 25;
    const std::string facts = gpu_facts(gpu);
    const std::size_t taken = kNameAndSizes + display_width(facts);
    const std::size_t room = width > taken ? width - taken : 0;
    add_bar(line, std::clamp(std::min(room, width / 5), kNarrowestBar, std::size_t{40}),
            {{share(held, *gpu.total), "█", style}, {share(*gpu.used - held, *gpu.total), "▓", style}});
    line.add(fmt::format(" {:>3.0f} %", 100 * gpu.full()), style).add(" of " + compact_size(*gpu.total) + "  ");
    return line.add(facts, gpu.xid_errors > 0 ? Style::warn : Style::plain);
}

}  // namespace

std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows) {
    auto gpus = gpu_lines(snapshot, target);
    if (gpus.empty() || rows == 0) return {};
    std::ranges::stable_partition(gpus, [](const GpuLine& gpu) { return gpu.held || !gpu.trouble.empty(); });
    const std::size_t whole = gpus.size() <= rows ? gpus.size() : rows - 1;
    std::vector<Line> lines;
    lines.reserve(rows);
    for (std::size_t i = 0; i < whole; ++i) lines.push_back(gpu_line(gpus[i], width));
    if (whole < gpus.size())
        lines.push_back(Line{}.add(fmt::format(" and {} more GPUs", gpus.size() - whole), Style::dim));
    return lines;
}

namespace {

Style style_of(CurvePart part) {
    switch (part) {
        case CurvePart::axis:
            return Style::dim;
        case CurvePart::curve:
            return Style::anon;
        case CurvePart::limit:
            return Style::warn;
        case CurvePart::mark:
            return Style::bad;
        case CurvePart::blank:
            break;
    }
    return Style::plain;
}

}  // namespace

std::vector<Line> curve_panel(const TargetSnapshot& target, const History& history, std::size_t width,
                              std::size_t rows) {
    const TargetCurve* curve = history.curve(target.info.name);
    if (!curve || curve->points().empty()) return {};
    const auto& points = curve->points();
    CurveLook look{.width = width > 1 ? width - 1 : 0, .height = rows, .last = "now", .marks = curve->deaths()};
    look.first = human_duration(Seconds{points.back().time - points.front().time}) + " ago";
    // Only a limit of the target itself can be compared with the curve, because other limits also count memory of other
    // cgroups.
    if (const auto& limit = target.memory.effective; limit && limit->owner == "own") look.limit = limit->limit;
    std::vector<Line> lines;
    for (const CurveRow& row : draw_curve(points, look)) {
        Line line;
        for (const CurvePiece& piece : row) line.add(piece.text, style_of(piece.part));
        lines.push_back(std::move(line));
    }
    return lines;
}

namespace {

constexpr std::size_t kSitesPerRole = 5;
constexpr std::size_t kMostSitesPerRole = 80;
constexpr std::size_t kBytes = 10;

struct RoleGrowth {
    RoleKey role{};
    std::int64_t bytes = 0;
    std::vector<GrowthSite> largest{};
    std::size_t others = 0;
};

std::vector<RoleGrowth> by_role(const GrowthPlane& plane, std::size_t sites) {
    std::map<RoleKey, RoleGrowth> roles;
    for (auto& [site, stacks] : own_lines(plane.sites)) {  // largest first
        RoleGrowth& role = roles[site.role];
        role.role = site.role;
        role.bytes = add_bytes(role.bytes, site.bytes);
        if (role.largest.size() < sites)
            role.largest.push_back(std::move(site));
        else
            ++role.others;
    }
    std::vector<RoleGrowth> sorted;
    sorted.reserve(roles.size());
    for (auto& [key, role] : roles) sorted.push_back(std::move(role));
    std::ranges::stable_sort(sorted, std::greater{}, &RoleGrowth::bytes);
    return sorted;
}

struct PanelText {
    PlaneKind plane{};
    std::string_view title{};
    std::string meaning{};
};

PanelText text_of(GrowthPanel panel, const Growth* growth) {
    switch (panel) {
        case GrowthPanel::mapped:
            return {PlaneKind::mapped, "MAPPED", "mapped here and not unmapped since"};
        case GrowthPanel::tensors_host:
            return {PlaneKind::tensors_host, "HOST TENSORS", "allocated here and not freed since"};
        case GrowthPanel::resident:
        case GrowthPanel::holders:  // has a panel of its own
        case GrowthPanel::off:
            break;
    }
    return {PlaneKind::resident, "RESIDENT",
            growth ? resident_state(*growth) : std::string(resident_meaning(ResidentMethod::live))};
}

std::string growth_hint(GrowthPanel panel) {
    switch (panel) {
        case GrowthPanel::resident:
            return "growth: resident";
        case GrowthPanel::mapped:
            return "growth: mapped";
        case GrowthPanel::tensors_host:
            return "growth: host tensors";
        case GrowthPanel::holders:
        case GrowthPanel::off:
            break;
    }
    return "growth";
}

// The text for an empty list. Host tensors are not always recorded, so an empty list does not mean that nothing grew.
std::string nothing_shown(const Growth& growth, PlaneKind plane) {
    if (plane != PlaneKind::tensors_host || growth.host_tensors.since_seconds) return "nothing so far";
    if (const auto& rate = growth.host_tensors.paused_at_rate)
        return fmt::format("paused: {:.0f} storages a second cost too much to record", *rate);
    return "no process has PyTorch mapped";
}

}  // namespace

namespace {

std::vector<Line> growth_lines(const Growth* growth, GrowthPanel plane, double now, std::size_t width,
                               std::size_t sites) {
    const PanelText text = text_of(plane, growth);
    std::vector<Line> lines;
    if (growth && !growth->sentence.empty())
        for (const std::string& row : wrapped_lines(printable(growth->sentence), width > 2 ? width - 2 : 1))
            lines.push_back(Line{}.add(" " + row, Style::bold));
    lines.push_back(Line{}
                        .add(fmt::format(" {}", text.title), Style::bold)
                        .add(fmt::format("  {}{}", text.meaning,
                                         growth ? ", " + span_text(growth->span, now) + " (t)" : std::string()),
                             Style::dim));
    if (!growth) {
        lines.push_back(Line{}.add(std::string("   ") + kGrowthNotRecorded, Style::warn));
        return lines;
    }
    const GrowthPlane& shown = growth->plane(text.plane);
    if (shown.sites.empty()) lines.push_back(Line{}.add("   " + nothing_shown(*growth, text.plane), Style::dim));
    for (const RoleGrowth& role : by_role(shown, sites)) {
        lines.push_back(Line{}
                            .add(right(human_growth(role.bytes), kBytes), Style::bold)
                            .add("  " + role_text(role.role), Style::bold));
        for (const GrowthSite& site : role.largest)
            lines.push_back(Line{}
                                .add(right(human_growth(site.bytes), kBytes))
                                .add("    " + site_line(site, width > kBytes + 4 ? width - kBytes - 4 : 1)));
        if (role.others > 0)
            lines.push_back(
                Line{}.add(std::string(kBytes + 4, ' ') + fmt::format("… {} more", role.others), Style::dim));
    }
    for (const UnattributedGrowth& part : shown.unattributed)
        if (part.bytes != 0)
            lines.push_back(Line{}.add(
                right(human_growth(part.bytes), kBytes) + "  not attributed: " + printable(part.reason), Style::warn));
    return lines;
}

}  // namespace

std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, double now, std::size_t width,
                               std::size_t rows) {
    std::vector<Line> lines = growth_lines(growth, plane, now, width, kSitesPerRole);
    for (std::size_t sites = 2 * kSitesPerRole; lines.size() < rows && sites <= kMostSitesPerRole; sites *= 2) {
        std::vector<Line> more = growth_lines(growth, plane, now, width, sites);
        if (more.size() <= lines.size()) break;  // there are no more lines
        lines = std::move(more);
    }
    return lines;
}

namespace {

void add_holders(const ProcessHeap& heap, double now, std::size_t width, std::vector<Line>& lines) {
    const HeldObjects& held = *heap.held;
    const std::size_t room = width > 2 ? width - 2 : 1;
    ProcessHeap titled = heap;  // the age in the title is that of the census of objects
    titled.census.time = held.time;
    lines.push_back(Line{}.add(" HOLDERS", Style::bold).add("  " + heap_title(titled, now), Style::dim));
    const auto add_text = [&](const std::string& text, Style style) {
        for (const std::string& row : wrapped_lines(text, room)) lines.push_back(Line{}.add(" " + row, style));
    };
    if (held.refusal != ObjectsRefusal::none)
        return add_text(fmt::format("the Python objects were not read: {}", name_of(held.refusal)), Style::warn);
    const std::string sentence = holder_sentence(held), on_gpu = holder_sentence(held, HolderMemory::device);
    for (const std::string& each : {sentence, on_gpu})
        if (!each.empty()) add_text(each, Style::bold);
    if (!held.over) add_text("no change is known yet, because only one census was taken", Style::dim);
    const bool changes = held.over.has_value();
    const bool device =
        std::ranges::any_of(held.holders, [](const HolderChange& each) { return each.holder.retained_device.n > 0; });
    const auto add_rows = [&](const std::string& rows, Style style) {
        for_each_line(rows, [&](std::string_view row) { lines.push_back(Line{}.add(" " + std::string(row), style)); });
    };
    add_rows(holder_head(changes, device, room), Style::dim);
    for (const HolderChange& each : held.holders) {
        std::optional<std::int64_t> bytes;
        if (each.retained_change) bytes = *each.retained_change + each.device_change.value_or(0);
        add_rows(holder_rows(each.holder, each.length_change, bytes, changes, device, room), Style::plain);
    }
}

}  // namespace

std::vector<Line> holders_panel(const TargetSnapshot& target, double now, std::size_t width) {
    std::vector<Line> lines;
    for (const ProcessHeap& heap : target.heap)
        if (heap.held) add_holders(heap, now, width, lines);
    if (lines.empty()) {
        lines.push_back(Line{}.add(" HOLDERS", Style::bold).add("  containers of Python that hold memory", Style::dim));
        for (const char* row :
             {"   no census of Python objects yet: one is taken after 10 s if nothing else is watched,",
              "   after the warm-up, and when a leak is found"})
            lines.push_back(Line{}.add(row, Style::dim));
    }
    return lines;
}

namespace {

struct Entry {
    const char* key;
    const char* what;
};

// Shown before kEntries. These keys have other meanings in the live view.
constexpr Entry kReplayEntries[] = {
    {"space", "pause or continue"},
    {"← →", "10 s back or forward; < > 10 min; , . one tick"},
    {"e  E", "jump to the next or previous verdict, precursor, action or death"},
    {"+ -", "faster or slower"},
    {"⏎", "fold or unfold the role"},
    {"", ""},
};

constexpr Entry kEntries[] = {
    {"q", "quit; Ctrl-C does the same"},
    {"↑ ↓  k j", "move by one row; PgUp PgDn Home End move further"},
    {"⏎  space", "fold or unfold the role; ← folds, → unfolds"},
    {"s", "sort by size, growth, name, pid"},
    {"/", "filter by a text in name, command or role; Esc clears the filter"},
    {"Tab  n p", "next and previous target"},
    {"g", "growth by own line: resident, mapped, host tensors, off; Esc closes it"},
    {"t", "growth since the end of the warm-up, 10 minutes ago, the start"},
    {"h", "containers of Python that grew or hold most; Esc closes it"},
    {"r", "show ranks separately or together"},
    {"x", "confirm deaths and un-sharing in the first lines, and remove them"},
    {"?", "this help"},
    {"", ""},
    {"█ ▓ ▒", "held by the target; by other cgroups below the same limit; reclaimable"},
    {"OWN", "own anonymous memory of the process: this is what leaks"},
    {"COW", "pages still shared with its parent; the parent counts them"},
    {"FILE SHMEM", "mapped files, shared memory: shared pages count in each process"},
    {"RSS", "resident set: the sum of these"},
    {"OWN/s", "change of OWN per second over the last 10 s"},
    {"FLT/s", "page faults per second"},
    {"×8 -16", "8 processes of the role, 16 have ended"},
    {"TREND", "OWN of the role over the last 120 ticks"},
    {"ms  MiB", "duration of the last tick, and memscope's own memory"},
};

}  // namespace

std::vector<Line> help_lines(bool replay) {
    std::vector<Line> lines;
    const auto add = [&lines](std::span<const Entry> entries) {
        for (const Entry& entry : entries)
            lines.push_back(Line{}.add("  ").add(left(entry.key, 11), Style::bold).add(entry.what));
    };
    if (replay) add(kReplayEntries);
    add(kEntries);
    return lines;
}

namespace {

constexpr std::size_t kWide = 76;  // from this width on sizes are shown with units

std::string percent(double part) { return fmt::format("{:.0f} %", 100 * std::min(part, 9.99)); }

double fullness(const MemoryState& memory) { return memory.effective ? memory.effective->held_share() : 0; }

Bytes held_by_others(const MemoryState& memory) { return memory.effective->held() - held_by_target(memory); }

std::vector<BarSpan> limit_parts(const MemoryState& memory) {
    const Bytes limit = memory.effective->limit;
    const Style style = alarm(fullness(memory));
    return {{share(held_by_target(memory), limit), "█", style},
            {share(held_by_others(memory), limit), "▓", style},
            {share(memory.usage - memory.unreclaimable, limit), "▒", Style::dim}};
}

// "full in 12 min", with the name of the limit if the bar shows another limit.
std::string forecast_text(const MemoryState& memory, const Forecast& forecast) {
    std::string when = forecast.eta > Seconds{} ? "full in " + human_duration(forecast.eta) : "full now";
    if (!forecast.limit || (memory.effective && memory.effective->owner == forecast.limit->owner)) return when;
    return limit_name(forecast.limit->owner) + " " + when;
}

Style style_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::insufficient:
            return Style::dim;
        case Verdict::warming_up:
            return Style::warn;
        case Verdict::stable:
        case Verdict::spiky:
            return Style::good;
        case Verdict::leaking:
            return Style::bad;
    }
    return Style::plain;
}

struct Kind {
    const char* name;
    Bytes MemoryByKind::* size;
    const char* glyph;  // distinguishes kinds without colour
    Style style;
};
constexpr Kind kKinds[] = {{"anon", &MemoryByKind::anon, "█", Style::anon},
                           {"shmem", &MemoryByKind::shmem, "▓", Style::shmem},
                           {"file", &MemoryByKind::file, "▒", Style::file},
                           {"kernel", &MemoryByKind::kernel, "▚", Style::kernel},
                           {"other", &MemoryByKind::other, "·", Style::other}};

}  // namespace

std::vector<Line> death_panel(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows) {
    if (state.deaths.empty() || rows == 0) return {};
    const UnseenDeath& newest = state.deaths.back();
    const Seconds age(std::max(1.0, snapshot.time - newest.time));
    std::string text =
        fmt::format("DEATH {} ago in {}: {}", human_duration(age), printable(newest.target), newest.text);
    if (newest.others > 0) text += fmt::format(" {} more died at the same time.", newest.others);
    if (state.deaths.size() > 1) text += fmt::format(" {} earlier.", state.deaths.size() - 1);
    Line tail;
    tail.add(" x", Style::bold).add(" seen ", Style::dim);
    std::vector<Line> lines;
    const std::size_t room = width > tail.width() + 1 ? width - tail.width() - 1 : 1;
    for (const std::string& line : wrapped_lines(text, room)) lines.push_back(Line{}.add(" " + line, Style::bad));
    if (lines.size() > rows) lines.resize(rows);
    lines.back() = spread(std::move(lines.back()), tail, width);
    return lines;
}

std::vector<Line> target_list(const Snapshot& snapshot, const State& state, std::size_t width, std::size_t rows) {
    const auto& targets = snapshot.targets;
    const std::size_t count = std::min(rows, targets.size());
    const std::size_t before = std::min(state.target_index, count / 2);
    const std::size_t first = std::min(state.target_index - before, targets.size() - count);
    const std::size_t name = std::min<std::size_t>(width / 3, 40);
    const std::size_t bar_width = width > name + 26 ? width - name - 26 : 0;
    std::vector<Line> lines;
    for (std::size_t i = first; i < first + count; ++i) {
        const TargetSnapshot& target = targets[i];
        const bool chosen = i == state.target_index;
        const Style style = chosen ? Style::bold : Style::dim;
        Line line;
        line.add(chosen ? " ▸ " : "   ", style).add(left(printable(target.info.name), name), style).add(" ");
        if (const auto& limit = target.memory.effective) {
            const double full = fullness(target.memory);
            add_bar(line, bar_width, limit_parts(target.memory));
            line.add(right(percent(full), 6), alarm(full));
            line.add(fmt::format("  {:>4} of {:<4}", compact_size(target.memory.usage), compact_size(limit->limit)),
                     style);
        } else {
            line.add(std::string(bar_width, ' '))
                .add(fmt::format("{:>12} used", compact_size(target.memory.usage)), style);
        }
        if (!target.up) line.add(" ended", Style::warn);
        lines.push_back(std::move(line));
    }
    return lines;
}

Line title_line(const Snapshot& snapshot, const TargetSnapshot& target, const History& history, const State& state,
                std::size_t width) {
    Line head;
    head.add(" " + printable(target.info.name), Style::bold);
    if (const ScopeVerdict* verdict = target.verdict()) {
        head.add("  " + std::string(phrase(verdict->judgement.verdict)), style_of(verdict->judgement.verdict));
        if (verdict->forecast) head.add(", " + forecast_text(target.memory, *verdict->forecast), Style::bold);
    }
    if (!target.up) head.add("  ended", Style::warn);
    Line tail;
    if (snapshot.targets.size() > 1)
        tail.add(fmt::format("{} of {}  ", state.target_index + 1, snapshot.targets.size()), Style::dim);
    if (width >= 60) {
        const Seconds watched = history.watched(target.info.name);
        tail.add(fmt::format("{}  watched {} ", target_kind_text(target.info),
                             human_duration(watched < Seconds{1} ? Seconds{1} : watched)),
                 Style::dim);
    }
    return spread(std::move(head), tail, width);
}

Line limit_line(const MemoryState& memory, std::size_t width) {
    if (!memory.effective) return Line{}.add(" " + human_size(memory.usage) + " used, no limit");
    const double full = fullness(memory);
    const std::string number = percent(full);
    const std::string limit = " of " + human_size(memory.effective->limit) + " ";
    const std::size_t taken = display_width(number) + display_width(limit) + 3;
    Line line;
    line.add(" ");
    if (width > taken + 4) {
        add_bar(line, width - taken, limit_parts(memory));
        line.add("  ");
    }
    return line.add(number, alarm(full)).add(limit);
}

Line headroom_line(const MemoryState& memory, std::size_t width) {
    Line line;
    line.add(" ");
    if (const auto& limit = memory.effective) {
        const bool is_path = limit->owner != "own" && limit->owner != "host" && !is_numa_owner(limit->owner);
        const std::string owner = is_path ? shortened_to(printable(limit->owner), width / 3) : limit_name(limit->owner);
        line.add(human_size(limit->headroom), Style::bold).add(" headroom below " + owner);
        if (const Bytes others = held_by_others(memory); others.n > 0)
            line.add(", where others hold " + human_size(others));
        line.add("  ·  ", Style::dim);
    }
    line.add(human_size(memory.unreclaimable), Style::bold).add(" of " + human_size(memory.usage) + " unreclaimable");
    if (memory.kernel_partly_counted) line.add(" (without slab: cgroup v1)", Style::dim);
    if (memory.swap.n > 0) line.add("  ·  ", Style::dim).add(human_size(memory.swap), Style::bold).add(" in swap");
    return line;
}

Line kinds_bar(const MemoryState& memory, std::size_t width, bool colour) {
    std::vector<BarSpan> parts;
    const auto& sizes = memory.by_kind;
    const Bytes all = sizes.anon + sizes.shmem + sizes.file + sizes.kernel + sizes.other;
    constexpr double kFull = 1 + 1e-9;  // slightly more than 1, so that rounding leaves no empty column at the end
    for (const Kind& kind : kKinds)
        parts.push_back({kFull * share(sizes.*kind.size, all), colour ? "▄" : kind.glyph, kind.style});
    Line line;
    line.add(" ");
    add_bar(line, width > 2 ? width - 2 : 0, parts);
    return line;
}

Line kinds_legend(const MemoryState& memory, std::size_t width, bool colour) {
    Line line;
    for (const Kind& kind : kKinds) {
        const Bytes size = memory.by_kind.*kind.size;
        line.add(" ").add(colour ? "■" : kind.glyph, kind.style).add(fmt::format(" {} ", kind.name), Style::dim);
        line.add(width >= kWide ? human_size(size) + " " : compact_size(size));
    }
    return line;
}

namespace {

struct HeapLook {
    const char* glyph;
    Style style;
};

// Memory that an allocator keeps free stands out, because it can be given back.
HeapLook look_of(HeapPart part) {
    switch (part) {
        case HeapPart::malloc_live:
            return {"█", Style::anon};
        case HeapPart::malloc_free:
            return {"░", Style::warn};
        case HeapPart::python_live:
            return {"▓", Style::file};
        case HeapPart::python_free:
            return {"▒", Style::warn};
        case HeapPart::mapped:
            return {"#", Style::shmem};
        case HeapPart::stacks:
            return {"+", Style::kernel};
        case HeapPart::other:
            break;
    }
    return {"·", Style::other};
}

}  // namespace

Line heap_bar(const ProcessHeap& heap, std::size_t width, bool colour) {
    const auto present = heap_parts(heap.census);
    Bytes all;
    for (const HeapPartText& part : present) all += part.size;
    std::vector<BarSpan> parts;
    constexpr double kFull = 1 + 1e-9;  // as in kinds_bar
    for (const HeapPartText& part : present) {
        const HeapLook look = look_of(part.part);
        parts.push_back({kFull * share(part.size, all), colour ? "▄" : look.glyph, look.style});
    }
    Line line;
    line.add(" ");
    add_bar(line, width > 2 ? width - 2 : 0, parts);
    return line;
}

Line heap_legend(const ProcessHeap& heap, double now, std::size_t width, bool colour) {
    Line line;
    for (const HeapPartText& part : heap_parts(heap.census)) {
        const HeapLook look = look_of(part.part);
        line.add(" ").add(colour ? "■" : look.glyph, look.style).add(fmt::format(" {} ", part.name), Style::dim);
        line.add(compact_size(part.size));
    }
    const Line title = Line{}.add("  " + heap_title(heap, now) + " ", Style::dim);
    return line.width() + title.width() <= width ? spread(std::move(line), title, width) : line;
}

Line trouble_line(const TargetSnapshot& target) {
    Line line;
    if (const auto& pressure = target.memory.pressure) {
        const auto style = [](double part) { return part >= 0.1 ? Style::bad : part > 0 ? Style::warn : Style::dim; };
        line.add(" pressure", Style::dim);
        line.add(fmt::format(" some {:.1f} %", 100 * pressure->some_avg10), style(pressure->some_avg10));
        line.add(fmt::format(" full {:.1f} %", 100 * pressure->full_avg10), style(pressure->full_avg10)).add("  ");
    }
    if (const auto& events = target.memory.events) {
        if (events->oom_kill > 0) line.add(fmt::format(" OOM kills {} ", events->oom_kill), Style::bad);
        if (events->max > 0) line.add(fmt::format(" at the limit {} times ", events->max), Style::warn);
        if (events->high > 0) line.add(fmt::format(" throttled {} times ", events->high), Style::warn);
    }
    if (const auto& shm = target.shm; shm && share(shm->used, shm->size) >= 0.5)
        line.add(" /dev/shm " + percent(share(shm->used, shm->size)) + " full ", alarm(share(shm->used, shm->size)));
    if (const auto& peak = target.memory.peak)  // the kernel's high-water mark
        line.add(" peak ", Style::dim).add(human_size(*peak)).add(" with page cache", Style::dim);
    return line;
}

std::vector<Line> precursor_lines(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t rows) {
    const auto& present = target.precursors;
    const std::size_t whole = present.size() <= rows ? present.size() : rows - std::min<std::size_t>(rows, 1);
    std::vector<Line> lines;
    for (std::size_t i = 0; i < whole; ++i) {
        const Seconds age(std::max(1.0, snapshot.time - present[i].since));
        Line line;
        line.add(fmt::format(" {}", name_of(present[i].kind)), Style::bad);
        line.add(fmt::format(" for {}: ", human_duration(age)), Style::dim).add(present[i].reason);
        lines.push_back(std::move(line));
    }
    if (whole == present.size() || rows == 0) return lines;
    Line rest;
    for (std::size_t i = whole; i < present.size(); ++i)
        rest.add(fmt::format(" {}", name_of(present[i].kind)), Style::bad);
    lines.push_back(std::move(rest.add(whole > 0 ? " as well" : "", Style::dim)));
    return lines;
}

Line note_line(const State& state, std::size_t first_row, std::size_t last_row, std::size_t rows, std::size_t width) {
    Line head;
    if (!state.notes.empty()) {
        if (state.notes.size() > 1) head.add(fmt::format(" +{}", state.notes.size() - 1), Style::dim);
        head.add(" " + printable(state.notes.back().line), Style::warn);
    }
    Line tail;
    if (last_row < rows || first_row > 1) tail.add(fmt::format("{}-{} of {} ", first_row, last_row, rows), Style::dim);
    return spread(std::move(head), tail, width);
}

Line footer_line(const SelfSample& self, const State& state, bool several_targets, std::size_t width, bool note) {
    std::uint64_t dropped = 0;
    for (const auto& [reason, count] : self.dropped) dropped += count;
    Line tail;
    if (dropped > 0) tail.add(compact_count(static_cast<double>(dropped)) + " dropped  ", Style::bad);
    tail.add(fmt::format("tick {:.1f} ms  {} ", self.tick_duration.count() * 1000, human_size(self.resident)),
             Style::dim);

    Line head;
    head.add(" q", Style::bold).add(" quit ", Style::dim);
    if (state.typing) {
        head = Line{}
                   .add(" /" + printable(state.filter) + "▏", Style::bold)
                   .add("  Enter keeps the filter, Esc clears it, Ctrl-C quits", Style::dim);
        return head.width() + tail.width() < width ? spread(std::move(head), tail, width) : head;
    }
    if (note && !state.notes.empty()) return head.add(" " + printable(state.notes.back().line), Style::warn);
    if (head.width() + tail.width() >= width) return head;
    const std::string sort = "sort: " + std::string(name_of(state.sort));
    const std::string filter = state.filter.empty() ? "filter" : "filter: " + printable(state.filter);
    const std::string growth = growth_hint(state.growth);
    struct Hint {
        const char* key;
        std::string what;
        bool wanted = true;
    };
    const bool seen = !state.deaths.empty() || state.has_unsharing();
    const Hint hints[] = {{"?", "help"},
                          {"x", "seen", seen},
                          {"/", filter, !state.filter.empty()},
                          {"Esc", "back", state.growth != GrowthPanel::off},
                          {"g", growth},
                          {"h", "holders"},
                          {"s", sort},
                          {"/", filter, state.filter.empty()},
                          {"⏎", "fold"},
                          {"r", state.by_rank ? "ranks" : "no ranks"},
                          {"Tab", "target", several_targets}};
    const std::size_t room = width > tail.width() ? width - tail.width() - 1 : 0;
    for (const Hint& hint : hints) {
        if (!hint.wanted || head.width() + display_width(hint.what) + display_width(hint.key) + 3 > room) continue;
        const bool active = hint.key[0] == '/' && !state.filter.empty();
        head.add(std::string(" ") + hint.key, Style::bold);
        head.add(" " + hint.what + " ", active ? Style::warn : Style::dim);
    }
    return spread(std::move(head), tail, width);
}

}  // namespace memscope::view
