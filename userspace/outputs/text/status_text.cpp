#include "outputs/text/status_text.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/limits/limit_sentence.h"
#include "analysis/targets/scope_sentence.h"
#include "base/text.h"
#include "outputs/heap/heap_text.h"
#include "outputs/text/gpu_text.h"
#include "outputs/text/process_rows.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kMostProcesses = 20;

double share(Bytes part, Bytes whole) {
    return whole.n == 0 ? 0 : static_cast<double>(part.n) / static_cast<double>(whole.n);
}

Colour alarm(double held) { return held >= 0.9 ? Colour::red : held >= 0.75 ? Colour::yellow : Colour::green; }

std::string headline(const TargetSnapshot& target, const Paint& paint) {
    const std::string kind = target_kind_text(target.info) + (target.up ? "" : ", ended");
    const std::size_t room = kWidth - display_width(kind) - 2;
    return paint(Colour::bold, left(printable(target.info.name), room)) + "  " + paint(Colour::dim, kind) + "\n";
}

// The verdict comes first, because users ask for it most.
std::string verdict_lines(const TargetSnapshot& target, const Paint& paint) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict) return {};
    const Verdict is = verdict->judgement.verdict;
    const Colour colour = is == Verdict::leaking      ? Colour::red
                          : is == Verdict::warming_up ? Colour::yellow
                                                      : Colour::green;
    std::string out = paint(is == Verdict::insufficient ? Colour::dim : colour, phrase(is)) + "\n";
    for (const ScopeVerdict& each : target.verdicts)
        if (each.scope == VerdictScope::target || adds_to(target, each))
            out += wrapped(printable(each.explanation), kWidth);
    return out;
}

// The bar shows memory held by the target, memory held by others below the same limit, reclaimable cache, and free.
std::string limit_lines(const MemoryState& memory, const Paint& paint) {
    std::string used = fmt::format("{} used, {} of it cannot be reclaimed", human_size(memory.usage),
                                   human_size(memory.unreclaimable));
    if (memory.kernel_partly_counted) used += " (kernel slab not counted: cgroup v1)";
    if (memory.swap.n > 0) used += fmt::format(", {} in swap", human_size(memory.swap));
    if (!memory.effective) return wrapped(used + ", no limit", kWidth);
    const EffectiveLimit& limit = *memory.effective;
    const Bytes own = held_by_target(memory);
    const Bytes others = limit.held() - own;
    const double full = limit.held_share();
    constexpr std::size_t kBar = 56;
    const std::string drawn = bar(kBar,
                                  {{share(own, limit.limit), "█"},
                                   {share(others, limit.limit), "▓"},
                                   {share(memory.usage - memory.unreclaimable, limit.limit), "▒"}},
                                  "░");
    std::string out = paint(alarm(full), drawn) +
                      fmt::format("  {:.0f} % of {}\n", 100 * std::min(full, 9.99), human_size(limit.limit)) +
                      wrapped(used, kWidth);
    std::string headroom = fmt::format("{} of headroom below {}", human_size(limit.headroom), limit_name(limit.owner));
    if (others.n > 0) headroom += fmt::format(", where others hold {}", human_size(others));
    return out + shortened_to(headroom, kWidth) + "\n";
}

// The limit that is reached first. The limit with the least headroom may be another.
std::string forecast_line(const TargetSnapshot& target, const Paint& paint) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict || !verdict->forecast || !verdict->forecast->limit) return {};
    const Forecast& forecast = *verdict->forecast;
    const std::string when = forecast.eta > Seconds{} ? "full in " + human_duration(forecast.eta) : "full now";
    const std::string line = fmt::format("{}: {} ({}), basis {}", when, limit_name(forecast.limit->owner),
                                         human_size(forecast.limit->limit), word(forecast.basis));
    return paint(Colour::bold, shortened_to(line, kWidth)) + "\n";
}

std::string kinds_line(const MemoryState& memory, const Paint& paint) {
    const auto kind = [&](std::string_view name, Bytes size) {
        return paint(Colour::dim, name) + " " + human_size(size);
    };
    return kind("anon", memory.by_kind.anon) + "  " + kind("shmem", memory.by_kind.shmem) + "  " +
           kind("file", memory.by_kind.file) + "  " + kind("kernel", memory.by_kind.kernel) + "  " +
           kind("other", memory.by_kind.other) + "\n";
}

// Parts of the anonymous memory of the largest process, by its last heap census.
std::string heap_lines(const Snapshot& snapshot, const TargetSnapshot& target) {
    const std::string line = heap_line(target, snapshot.time);
    return line.empty() ? line : wrapped("heap: " + line, kWidth);
}

// The high-water mark includes reclaimable memory, so a limit does not need to leave room for all of it.
std::string peak_line(const MemoryState& memory) {
    if (!memory.peak) return {};
    return fmt::format("the kernel's high-water mark is {}, with page cache\n", human_size(*memory.peak));
}

// "GPU 0  ████▓░░░  71 % of 80 GiB  NVIDIA H200": held by the target, by others, free; the sizes follow below.
std::string gpu_table(const Snapshot& snapshot, const TargetSnapshot& target, const Paint& paint) {
    std::string out;
    for (const GpuLine& gpu : gpu_lines(snapshot, target)) {
        out += left(gpu.name, 8);
        if (gpu.used && gpu.total && gpu.total->n > 0) {
            const Bytes held = gpu.held.value_or(Bytes{});
            const std::string drawn =
                bar(24, {{share(held, *gpu.total), "█"}, {share(*gpu.used - held, *gpu.total), "▓"}}, "░");
            out += paint(alarm(gpu.full()), drawn) +
                   fmt::format("  {:.0f} % of {}", 100 * gpu.full(), human_size(*gpu.total));
        }
        out += "  " + paint(Colour::dim, shortened_to(gpu.model, 26)) + "\n";
        if (const std::string facts = gpu_facts(gpu); !facts.empty())
            for_each_line(wrapped(facts, kWidth - 8),
                          [&](std::string_view line) { out += std::string(8, ' ').append(line) + "\n"; });
    }
    return out.empty() ? out : "\n" + out;
}

std::string role_table(const TargetSnapshot& target, const Paint& paint) {
    struct Row {
        RoleKey key;
        RoleTotals totals;
    };
    std::vector<Row> rows;
    Bytes all;
    for (const auto& [key, totals] : target.roles) {
        if (totals.processes == 0) continue;
        rows.push_back({key, totals});
        all += held(totals);
    }
    if (rows.empty()) return {};
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) { return held(a.totals) > held(b.totals); });
    // There are 80 columns. With GPUs, GPU memory replaces the bar. With GPUs and inherited pages, COW replaces
    // THREADS.
    const bool gpu = target.gpu.has_value();
    const bool cow = inherits_pages(target.processes);
    const bool threads = !(gpu && cow);
    const std::size_t bar_width = cow ? 6 : 12;
    const auto column = [](bool wanted, const std::string& text, std::size_t width) {
        return wanted ? " " + right(text, width) : std::string();
    };
    const std::string head = left("ROLE", 17) + column(true, "RANK", 4) + column(true, "PROCS", 5) +
                             column(threads, "THREADS", 7) + column(true, "OWN", 8) + column(cow, "COW", 8) +
                             column(true, "FILE", 8) + column(true, "SHMEM", 8) + (gpu ? "       GPU" : "  SHARE");
    std::string out = "\n" + paint(Colour::dim, head) + "\n";
    for (const auto& [key, totals] : rows) {
        const auto on_gpu = gpu_memory_of(target, key);
        out += left(name_of(key.role), 17) + column(true, key.rank ? std::to_string(*key.rank) : "-", 4) +
               column(true, std::to_string(totals.processes), 5) + column(threads, std::to_string(totals.threads), 7) +
               column(true, human_size(totals.own_anon()), 8) + column(cow, human_size(totals.inherited), 8) +
               column(true, human_size(totals.file), 8) + column(true, human_size(totals.shmem), 8) + "  " +
               (gpu ? right(on_gpu ? human_size(*on_gpu) : "-", 8)
                    : bar(bar_width, {{share(held(totals), all), "█"}}, "░")) +
               "\n";
    }
    return out;
}

std::string process_table(const TargetSnapshot& target, const Paint& paint) {
    if (target.processes.empty()) return "\n" + paint(Colour::dim, "no processes") + "\n";
    const ProcessRows tree = process_rows(target.processes, kMostProcesses);
    const bool cow = inherits_pages(target.processes);
    const std::size_t name = cow ? 22 : 31;
    const auto sizes = [&](const std::string& own, const std::string& inherited, const std::string& rss) {
        return " " + right(own, 8) + (cow ? " " + right(inherited, 8) : "") + " " + right(rss, 8) + "\n";
    };
    std::string head = right("PID", 7) + "  " + left("PROCESS", name) + " " + left("ROLE", 21);
    head += sizes("OWN", "COW", "RSS");
    head.pop_back();
    std::string out = "\n" + paint(Colour::dim, head) + "\n";
    for (const ProcessRow& row : tree.rows) {
        const Process& process = *row.process;
        std::string role(name_of(process.role));
        if (process.rank) role += fmt::format(" {}", *process.rank);
        const std::size_t room = name - std::min(display_width(row.branches), name);
        out += right(std::to_string(process.task.id.pid), 7) + "  " + paint(Colour::dim, row.branches) +
               left(title_of(process, room), room) + " " + left(role, 21) +
               (process.task.memory ? sizes(human_size(process.own_anon()), human_size(process.inherited),
                                            human_size(resident(process)))
                                    : sizes("-", "-", "-"));
    }
    if (tree.left_out > 0)
        out += fmt::format("{:9}... and {} more, {}\n", "", tree.left_out, human_size(tree.left_out_held));
    if (cow)
        out += paint(Colour::dim, "COW: pages that a process still shares with its parent; the parent counts them.") +
               "\n";
    return out;
}

// Copy-on-write un-sharing, if it is large enough to explain growth.
std::string sharing_lines(const TargetSnapshot& target, const Paint& paint) {
    if (target.sharing.explanation.empty() || says_unsharing(target)) return {};
    std::string out = "\n";
    for_each_line(wrapped(printable(target.sharing.explanation) + ".", kWidth),
                  [&](std::string_view line) { out += paint(Colour::yellow, line) + "\n"; });
    return out;
}

// Kernel events, pressure and losses. Empty if there are none.
std::string trouble_line(const Snapshot& snapshot, const TargetSnapshot& target, const Paint& paint) {
    std::vector<std::string> parts;
    if (const auto& events = target.memory.events) {
        if (events->oom_kill > 0) parts.push_back(fmt::format("oom_kill {}", events->oom_kill));
        if (events->oom > 0) parts.push_back(fmt::format("oom {}", events->oom));
        if (events->max > 0) parts.push_back(fmt::format("at the limit {} times", events->max));
        if (events->high > 0) parts.push_back(fmt::format("throttled (high) {} times", events->high));
    }
    if (const auto& pressure = target.memory.pressure; pressure && pressure->some_avg10 > 0)
        parts.push_back(fmt::format("pressure some {:.1f} %, full {:.1f} %", 100 * pressure->some_avg10,
                                    100 * pressure->full_avg10));
    if (const auto& shm = target.shm; shm && share(shm->used, shm->size) >= 0.5)
        parts.push_back(fmt::format("/dev/shm {:.0f} % full", 100 * share(shm->used, shm->size)));
    std::uint64_t dropped = 0;
    for (const auto& [reason, count] : snapshot.self.dropped) dropped += count;
    if (dropped > 0) parts.push_back(fmt::format("{} events dropped", dropped));
    std::string line;
    for (const std::string& part : parts) line += (line.empty() ? "" : "   ") + part;
    if (line.empty()) return {};
    const bool killed = target.memory.events && target.memory.events->oom_kill > 0;
    return "\n" + paint(killed ? Colour::red : Colour::yellow, shortened_to(line, kWidth)) + "\n";
}

// A recent death is shown first. An older one is shown at the end.
bool died_lately(const Snapshot& snapshot, const TargetSnapshot& target) {
    constexpr double kLately = 3600;  // seconds
    return target.last_death && snapshot.time - target.last_death->time < kLately;
}

// The last death of the target, shown as long as the target is watched.
std::string death_lines(const Snapshot& snapshot, const TargetSnapshot& target, const Paint& paint) {
    if (!target.last_death) return {};
    std::uint64_t all = 0;
    for (const DeathCause cause : kDeathCauses)
        all += target.death_tally.of(cause) - target.death_tally.of(cause, DeathSender::tree);
    const Seconds age(std::max(0.0, snapshot.time - target.last_death->time));
    const std::string text = fmt::format("{}: {}, {} ago: {}", printable(target.info.name),
                                         all == 1 ? "death" : fmt::format("the last of {} deaths", all),
                                         human_duration(age), printable(target.last_death->explanation));
    std::string out;
    for (const std::string& line : wrapped_lines(text, kWidth)) out += paint(Colour::red, line) + "\n";
    return out;
}

// Precursors are whole sentences. They are wrapped between words, never cut.
std::string precursor_lines(const Snapshot& snapshot, const TargetSnapshot& target, const Paint& paint) {
    std::string out;
    for (const Precursor& precursor : target.precursors) {
        const Seconds age(std::max(0.0, snapshot.time - precursor.since));
        const std::string text = fmt::format("{}, for {}: {}", name_of(precursor.kind),
                                             human_duration(std::max(age, Seconds{1})), printable(precursor.reason));
        for (const std::string& line : wrapped_lines(text, kWidth)) out += paint(Colour::red, line) + "\n";
    }
    return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string status_text(const Snapshot& snapshot, const TargetSnapshot& target, bool color) {
    const Paint paint(color);
    const std::string death = death_lines(snapshot, target, paint);
    const bool first = died_lately(snapshot, target);
    return (first ? death + "\n" : "") + headline(target, paint) + verdict_lines(target, paint) +
           limit_lines(target.memory, paint) + forecast_line(target, paint) + kinds_line(target.memory, paint) +
           heap_lines(snapshot, target) + peak_line(target.memory) + gpu_table(snapshot, target, paint) +
           role_table(target, paint) + process_table(target, paint) + sharing_lines(target, paint) +
           precursor_lines(snapshot, target, paint) + (first || death.empty() ? "" : "\n" + death) +
           trouble_line(snapshot, target, paint);
}

std::string target_kind_text(const TargetInfo& target) {
    if (target.pid) return fmt::format("pid {}, cgroup v{}", *target.pid, target.cgroup_version);
    return fmt::format("{} v{}", printable(target.kind), target.cgroup_version);
}

}  // namespace memscope
