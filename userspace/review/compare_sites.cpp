#include "review/compare_sites.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <tuple>

#include "analysis/growth/attribution.h"
#include "analysis/growth/owner.h"
#include "analysis/heap/object_growth.h"
#include "base/text.h"
#include "outputs/growth/growth_frames.h"
#include "outputs/growth/growth_text.h"

namespace memscope {
namespace {

constexpr double kLeastDifference = 1 << 20;  // a smaller difference is noise
constexpr double kAlikeShare = 0.1;           // share by which sampled sizes, or those of a line that moved, may differ
constexpr double kTolerance = 1.1;            // factor; sites may be sampled
constexpr double kNamedShare = 0.05;          // of the difference of the peak; a line with less is not named
constexpr double kExplained = 0.25;           // share of the difference that lines may leave unexplained
constexpr std::size_t kMostComparedSites = 10;
constexpr std::size_t kMostHolders = 10;
constexpr std::size_t kMostNamedParts = 3;
constexpr std::size_t kNameBytes = 120;
constexpr std::size_t kMostLines = 1000;  // joining lines that moved takes quadratic time

struct SiteLine {
    PlaneKind plane{};
    std::string role{};
    std::string file{};  // its name without directories, because another run may be in another checkout
    std::string function{};
    int number = 0;
    auto operator<=>(const SiteLine&) const = default;

    auto place() const { return std::tie(plane, role, file, function); }
};
// Merges the planes `mapped` and `tensors_host`, which both know the owner of memory. Each line has the larger of its
// two sizes. They are not added, because the storage of a tensor can be a mapping of its own. `mapped` can be larger,
// because tensors are recorded only after the process has mapped PyTorch.
struct Kept {
    double bytes = 0;
    PlaneKind plane{};  // the plane with the larger size
};
using Lines = std::map<SiteLine, Kept>;

PlaneKind group_of(PlaneKind plane) { return plane == PlaneKind::tensors_host ? PlaneKind::mapped : plane; }

bool is_libc(const std::string& module) {
    const std::string file = file_name(module);
    return file.starts_with("libc.so") || file.starts_with("libc-") || file.starts_with("ld-linux");
}

// The innermost function outside of libc, because the innermost ones are usually malloc() and mmap().
std::string native_name(const std::vector<NativeFrame>& frames) {
    for (const NativeFrame& frame : frames)
        if (!is_libc(frame.module)) return name_of(frame);
    return frames.empty() ? "no stack" : name_of(frames.front());
}

SiteLine line_of(PlaneKind plane, const GrowthSite& site) {
    SiteLine line{.plane = plane, .role = role_text(site.role)};
    if (const PythonFrame* own = own_frame(site.python)) {
        line.file = file_name(own->file);
        line.function = own_name(site.python);
        line.number = own->line;
    } else {
        line.function = native_name(site.native);
    }
    return line;
}

Lines lines_of(const Growth& growth) {
    Lines lines;
    for (std::size_t i = 0; i < kPlanes; ++i) {
        const auto plane = static_cast<PlaneKind>(i);
        std::vector<GrowthSite> sites;
        for (const GrowthSite& site : growth.plane(plane).sites)
            if (plane != PlaneKind::mapped || (!site.native.empty() && maps_for_owner(site.native.front().symbol)))
                sites.push_back(site);
        std::map<SiteLine, double> of_plane;
        for (const OwnLine& line : own_lines(std::move(sites)))
            of_plane[line_of(group_of(plane), line.site)] += static_cast<double>(line.site.bytes);
        for (const auto& [line, bytes] : of_plane)
            if (Kept& kept = lines[line]; bytes >= kept.bytes) kept = {bytes, plane};
    }
    return lines;
}

std::vector<Lines> lines_of(const std::vector<RunSummary>& runs, std::optional<Growth> RunSummary::* growth) {
    std::vector<Lines> all;
    all.reserve(runs.size());
    for (const RunSummary& run : runs) all.push_back(run.*growth ? lines_of(*(run.*growth)) : Lines{});
    return all;
}

// The values of a line in all runs. A line that a run does not have holds nothing.
std::vector<double> column(const std::vector<Lines>& runs, const SiteLine& line) {
    std::vector<double> values;
    for (const Lines& run : runs) {
        const auto found = run.find(line);
        values.push_back(found == run.end() ? 0 : found->second.bytes);
    }
    return values;
}

// Kept::plane of a line in the last run that has it.
PlaneKind plane_of(const std::vector<Lines>& runs, const SiteLine& line, PlaneKind otherwise) {
    for (const Lines& run : runs)
        if (const auto found = run.find(line); found != run.end()) otherwise = found->second.plane;
    return otherwise;
}

struct Row {
    SiteLine line{};
    PlaneKind plane{};
    double base = 0;
    double head = 0;
    double spread = 0;
    bool gone = false;  // it was joined with another row
};

// An edit moves the lines below it, so a line of BASE and a line of HEAD of one function are the same line if they hold
// about the same, or if no other line of this function is left.
void join_moved(std::vector<Row>& rows) {
    const auto only_base = [](const Row& row) { return !row.gone && row.head == 0 && row.base > 0; };
    const auto only_head = [](const Row& row) { return !row.gone && row.base == 0 && row.head > 0; };
    const auto join = [](Row& before, Row& after) {
        after.base = before.base;
        after.spread = std::max(after.spread, before.spread);
        before.gone = true;
    };
    for (Row& before : rows) {
        if (!only_base(before)) continue;
        for (Row& after : rows) {
            const double most = std::max(kLeastDifference, kAlikeShare * before.base);
            if (!only_head(after) || after.line.place() != before.line.place()) continue;
            if (std::abs(after.head - before.base) > most) continue;
            join(before, after);
            break;
        }
    }
    for (Row& before : rows) {
        if (!only_base(before)) continue;
        std::vector<Row*> left, right;
        for (Row& row : rows) {
            if (row.line.place() != before.line.place()) continue;
            if (only_base(row)) left.push_back(&row);
            if (only_head(row)) right.push_back(&row);
        }
        if (left.size() == 1 && right.size() == 1) join(before, *right.front());
    }
}

std::string text_of(const SiteLine& line) {
    const std::string place = line.number > 0 ? fmt::format("{}:{}", line.file, line.number) : line.file;
    std::string text = printable(place.empty() ? line.function : place + " " + line.function);
    if (text.size() > kNameBytes) text = valid_utf8(text.substr(0, kNameBytes)) + "…";
    return text;
}

// True if another plane shows that this line keeps the memory. Then its line in the plane `resident`, which only says
// that it touched the memory first, is left out.
bool is_repeated(const SiteDifference& site, const std::vector<SiteDifference>& all) {
    if (site.plane != PlaneKind::resident) return false;
    return std::ranges::any_of(all, [&](const SiteDifference& other) {
        const bool owns = other.plane == PlaneKind::mapped || other.plane == PlaneKind::tensors_host;
        return owns && other.role == site.role && other.line == site.line &&
               std::signbit(other.change()) == std::signbit(site.change());
    });
}

// Lines with their part of the difference of the peak, all roles together, largest first.
struct Part {
    std::string line{};
    double bytes = 0;
};
std::vector<Part> parts_of(const std::vector<SiteDifference>& sites, bool owners) {
    std::map<std::string, double> by_line;
    for (const SiteDifference& site : sites) {
        const bool owns = site.plane == PlaneKind::mapped || site.plane == PlaneKind::tensors_host;
        if (owners ? !owns : site.plane != PlaneKind::resident) continue;
        by_line[site.line] += site.change();
    }
    std::vector<Part> parts;
    parts.reserve(by_line.size());
    for (const auto& [line, bytes] : by_line) parts.push_back({line, bytes});
    std::ranges::stable_sort(parts, std::greater(), [](const Part& part) { return std::abs(part.bytes); });
    return parts;
}

std::string size_text(double bytes) { return value_text(Difference::Unit::bytes, std::abs(bytes)); }

std::string joined(const std::vector<std::string>& words) {
    if (words.size() < 2) return words.empty() ? std::string() : words.front();
    return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

// A sentence that says which lines make the difference of the peak. Empty if their sum does not match the difference.
std::string peak_sentence(const Comparison& comparison) {
    const auto peak = std::ranges::find(comparison.values, "peak", &Difference::name);
    if (!comparison.sites_at_peak || peak == comparison.values.end() || !peak->beyond_noise) return {};
    const double change = peak->change();
    for (const bool owners : {true, false}) {
        double sum = 0, named_sum = 0;
        std::vector<Part> named;
        for (const Part& part : parts_of(comparison.sites, owners)) {
            sum += part.bytes;
            if (std::abs(part.bytes) < kNamedShare * std::abs(change) || named.size() == kMostNamedParts) continue;
            named.push_back(part);
            named_sum += part.bytes;
        }
        const bool one_way = std::ranges::all_of(
            named, [&](const Part& part) { return std::signbit(part.bytes) == std::signbit(change); });
        const std::string all = fmt::format("{} {}", size_text(change), change > 0 ? "more" : "less");
        std::vector<std::string> words;
        if (!named.empty() && one_way && std::abs(named_sum) <= kTolerance * std::abs(change)) {
            if (!owners) {
                for (const Part& part : named)
                    words.push_back(fmt::format("{} at {}", size_text(part.bytes), part.line));
                return fmt::format(
                    "Of the {} at the peak, {} were first touched: the line that touches memory first need not keep "
                    "it.",
                    all, joined(words));
            }
            for (const Part& part : named)
                words.push_back(fmt::format("{} makes {}", part.line, size_text(part.bytes)));
            return fmt::format("{} of the {} at the peak.", joined(words), all);
        }
        if (owners && named.size() > 1 && std::abs(sum - change) <= kExplained * std::abs(change)) {
            for (const Part& part : named)
                words.push_back(
                    fmt::format("{} holds {} {}", part.line, size_text(part.bytes), part.bytes > 0 ? "more" : "less"));
            return fmt::format("The peak is {}: {}.", all, joined(words));
        }
        // The owners of memory are known, but their sum does not match the difference. Then lines that only touched
        // memory first do not explain the peak, either.
        if (!named.empty()) return {};
    }
    return {};
}

// The containers of a run by path, with their type and their retained bytes of host and GPU in the process in which
// they retain most.
struct Held {
    std::string type{};
    double bytes = 0;
};
std::map<std::string, Held> held_of(const RunSummary& run) {
    std::map<std::string, Held> all;
    const auto add = [&all](const std::map<std::string, Held>& of_process) {
        for (const auto& [path, held] : of_process) {
            // A census of a forked worker also has the objects of its parent, so processes are not added up.
            Held& most = all[path];
            if (held.bytes >= most.bytes) most = held;
        }
    };
    const auto put = [](std::map<std::string, Held>& of_process, const Holder& holder) {
        Held& held = of_process[path_without_lines(holder.path)];  // several containers can have one path
        held.type = holder.type;
        held.bytes += static_cast<double>(holder.retained.n) + static_cast<double>(holder.retained_device.n);
    };
    for (const WholeCensus& census : run.censuses) {
        std::map<std::string, Held> of_process;
        for (const Holder& holder : census.objects->holders) put(of_process, holder);
        add(of_process);
    }
    const TargetSnapshot* target = run.last_target();
    if (!target || !run.censuses.empty()) return all;
    // The summary of a census, which every tick has.
    for (const ProcessHeap& heap : target->heap) {
        if (!heap.held) continue;
        std::map<std::string, Held> of_process;
        for (const HolderChange& each : heap.held->holders) put(of_process, each.holder);
        // The largest container may be in both lists.
        if (const auto& most = heap.held->most; most && !of_process.contains(path_without_lines(most->path)))
            put(of_process, *most);
        add(of_process);
    }
    return all;
}

// The sizes of the container in the runs that list it. `nullopt` if at most half of the runs list it.
std::optional<std::vector<double>> held_column(const std::vector<std::map<std::string, Held>>& runs,
                                               const std::string& path) {
    std::vector<double> values;
    for (const auto& run : runs)
        if (const auto found = run.find(path); found != run.end()) values.push_back(found->second.bytes);
    if (2 * values.size() <= runs.size()) return std::nullopt;
    return values;
}

}  // namespace

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double spread_of(const std::vector<double>& values) {
    if (values.empty()) return 0;
    const auto [low, high] = std::ranges::minmax(values);
    return high - low;
}

void compare_sites(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head, Comparison& result) {
    const auto has_peak = [](const RunSummary& run) { return run.peak_growth.has_value(); };
    result.sites_at_peak = std::ranges::all_of(base, has_peak) && std::ranges::all_of(head, has_peak);
    const auto growth = result.sites_at_peak ? &RunSummary::peak_growth : &RunSummary::growth;
    // Without the growth of one run, everything in the others would look new.
    const auto has_growth = [&](const RunSummary& run) { return (run.*growth).has_value(); };
    if (!std::ranges::all_of(base, has_growth) || !std::ranges::all_of(head, has_growth)) return;
    const std::vector<Lines> before = lines_of(base, growth), after = lines_of(head, growth);
    std::set<SiteLine> all;
    for (const auto* side : {&before, &after})
        for (const Lines& run : *side)
            for (const auto& [line, kept] : run) all.insert(line);
    std::vector<Row> rows;
    for (const SiteLine& line : all) {
        const auto of_base = column(before, line), of_head = column(after, line);
        const PlaneKind plane = plane_of(after, line, plane_of(before, line, line.plane));
        rows.push_back(
            {line, plane, median(of_base), median(of_head), std::max(spread_of(of_base), spread_of(of_head))});
    }
    std::ranges::stable_sort(rows, std::greater(), [](const Row& row) { return std::max(row.base, row.head); });
    if (rows.size() > kMostLines) rows.resize(kMostLines);
    join_moved(rows);
    std::vector<SiteDifference> sites;
    for (const Row& row : rows) {
        // First touches are sampled.
        const double sampled = row.plane == PlaneKind::resident ? kAlikeShare * std::max(row.base, row.head) : 0;
        if (row.gone || std::abs(row.head - row.base) <= std::max({row.spread, kLeastDifference, sampled})) continue;
        sites.push_back({row.plane, row.line.role, text_of(row.line), row.base, row.head, row.spread});
    }
    for (const SiteDifference& site : sites)
        if (!is_repeated(site, sites)) result.sites.push_back(site);
    std::ranges::stable_sort(result.sites, std::greater(),
                             [](const SiteDifference& site) { return std::abs(site.change()); });
    result.sentence = peak_sentence(result);
    if (result.sites.size() > kMostComparedSites) result.sites.resize(kMostComparedSites);
}

void compare_holders(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head, Comparison& result) {
    std::vector<std::map<std::string, Held>> before, after;
    for (const RunSummary& run : base) before.push_back(held_of(run));
    for (const RunSummary& run : head) after.push_back(held_of(run));
    const auto lists_any = [](const auto& runs) {
        return std::ranges::any_of(runs, [](const auto& run) { return !run.empty(); });
    };
    if (!lists_any(before) || !lists_any(after)) return;  // no census: nothing to compare with
    std::map<std::string, std::string> types;
    for (const auto* side : {&before, &after})
        for (const auto& run : *side)
            for (const auto& [path, held] : run) types[path] = held.type;
    for (const auto& [path, type] : types) {
        const auto of_base = held_column(before, path), of_head = held_column(after, path);
        if (!of_base && !of_head) continue;
        HolderDifference holder{.path = printable(path), .type = printable(type)};
        if (of_base) holder.base = median(*of_base);
        if (of_head) holder.head = median(*of_head);
        for (const auto* side : {&of_base, &of_head})
            if (*side) holder.spread = std::max(holder.spread, spread_of(**side));
        const double least = std::max(kLeastDifference, 0.01 * holder.base.value_or(0));
        if (std::abs(holder.change()) > std::max(holder.spread, least)) result.holders.push_back(std::move(holder));
    }
    std::ranges::stable_sort(result.holders, std::greater(),
                             [](const HolderDifference& each) { return std::abs(each.change()); });
    if (result.holders.size() > kMostHolders) result.holders.resize(kMostHolders);
}

}  // namespace memscope
