#include "review/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "base/text.h"
#include "outputs/growth/growth_text.h"

namespace memscope {
namespace {

using Unit = Difference::Unit;

// Differences below these are noise, even if each side has only one run.
constexpr double kLeastShare = 0.01;
constexpr double kLeastBytes = 1 << 20;
constexpr std::size_t kMostSites = 10;
constexpr std::size_t kLineWidth = 80;

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double spread_of(const std::vector<double>& values) {
    const auto [low, high] = std::ranges::minmax(values);
    return high - low;
}

double least_of(Unit unit, double base) {
    switch (unit) {
        case Unit::bytes:
            return std::max(kLeastShare * std::abs(base), kLeastBytes);
        case Unit::bytes_per_second:
            return std::max(kLeastShare * std::abs(base), kLeastBytes / 3600);  // 1 MiB an hour
        case Unit::count:
            return 0;
    }
    return 0;
}

// Values of a run by name. A name that a run does not have counts as 0.
using Values = std::map<std::string, std::pair<Unit, double>>;

double number(Bytes bytes) { return static_cast<double>(bytes.n); }

Values values_of(const RunSummary& run) {
    Values values;
    values["peak"] = {Unit::bytes, number(run.peak.bytes)};
    if (run.kernel_peak) values["kernel_peak"] = {Unit::bytes, number(*run.kernel_peak)};
    if (run.judgement) {
        values["floor"] = {Unit::bytes, number(run.judgement->floor)};
        values["slope"] = {Unit::bytes_per_second, run.judgement->floor_slope};
    }
    values["processes"] = {Unit::count, static_cast<double>(run.most_processes)};
    for (const auto& [name, part] : run.roles) values["role " + name] = {Unit::bytes, number(part.peak)};
    for (const auto& [gpu, bytes] : run.gpus) values["gpu " + gpu] = {Unit::bytes, number(bytes)};
    return values;
}

std::map<std::string, double> lines_of(const RunSummary& run) {
    std::map<std::string, double> lines;
    if (!run.growth) return lines;
    const GrowthPlane& plane = run.growth->resident.sites.empty() ? run.growth->mapped : run.growth->resident;
    for (const GrowthSite& site : plane.sites) lines[site_line(site, kLineWidth)] += static_cast<double>(site.bytes);
    return lines;
}

// The values of one name in all runs.
template <class Map, class Get>
std::vector<double> column(const std::vector<Map>& runs, const std::string& name, Get get) {
    std::vector<double> values;
    for (const Map& run : runs) {
        const auto found = run.find(name);
        values.push_back(found == run.end() ? 0 : get(found->second));
    }
    return values;
}

std::vector<std::string> verdicts(const std::vector<RunSummary>& runs) {
    std::vector<std::string> words;
    for (const RunSummary& run : runs)
        words.emplace_back(word(run.judgement ? run.judgement->verdict : Verdict::insufficient));
    return words;
}

std::vector<SiteDifference> compare_sites(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head) {
    std::vector<std::map<std::string, double>> before, after;
    for (const RunSummary& run : base) before.push_back(lines_of(run));
    for (const RunSummary& run : head) after.push_back(lines_of(run));
    std::map<std::string, SiteDifference> lines;
    for (const auto* side : {&before, &after})
        for (const auto& run : *side)
            for (const auto& [line, bytes] : run) lines[line].line = line;
    std::vector<SiteDifference> sites;
    const auto same = [](double value) { return value; };
    for (auto& [line, site] : lines) {
        site.base = median(column(before, line, same));
        site.head = median(column(after, line, same));
        if (std::abs(site.head - site.base) >= kLeastBytes) sites.push_back(std::move(site));
    }
    std::ranges::stable_sort(sites, std::greater(), [](const SiteDifference& s) { return std::abs(s.head - s.base); });
    if (sites.size() > kMostSites) sites.resize(kMostSites);
    return sites;
}

}  // namespace

std::optional<double> Difference::share() const {
    return base == 0 ? std::nullopt : std::optional(change() / std::abs(base));
}

Comparison compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head) {
    std::vector<Values> before, after;
    for (const RunSummary& run : base) before.push_back(values_of(run));
    for (const RunSummary& run : head) after.push_back(values_of(run));
    // These first, then roles and GPUs by name.
    std::vector<std::string> names;
    std::map<std::string, Unit> all;
    for (const auto* side : {&before, &after})
        for (const Values& run : *side)
            for (const auto& [name, value] : run) all[name] = value.first;
    for (const char* first : {"peak", "kernel_peak", "floor", "slope", "processes"})
        if (all.erase(first) > 0) names.emplace_back(first);
    for (const auto& [name, unit] : all) names.push_back(name);
    Comparison result;
    const auto add = [&](const std::string& name) {
        const auto value = [](const std::pair<Unit, double>& each) { return each.second; };
        const auto of_base = column(before, name, value), of_head = column(after, name, value);
        Difference difference{.name = name};
        for (const auto* side : {&before, &after})
            for (const Values& run : *side)
                if (const auto found = run.find(name); found != run.end()) difference.unit = found->second.first;
        difference.base = median(of_base);
        difference.head = median(of_head);
        difference.spread = std::max(spread_of(of_base), spread_of(of_head));
        difference.beyond_noise =
            std::abs(difference.change()) > std::max(difference.spread, least_of(difference.unit, difference.base));
        result.values.push_back(std::move(difference));
    };
    for (const std::string& name : names) add(name);
    result.sites = compare_sites(base, head);
    result.base_verdicts = verdicts(base);
    result.head_verdicts = verdicts(head);
    return result;
}

Result<std::vector<FailRule>> parse_fail_rules(std::string_view text) {
    static constexpr std::string_view kNames[] = {"peak", "kernel_peak", "floor", "slope", "processes"};
    std::vector<FailRule> rules;
    for (const std::string_view part : split(text, ',')) {
        const std::string_view rule = trimmed(part);
        const auto mark = rule.find('>');
        if (mark == std::string_view::npos) {
            if (!verdict_of(rule))
                return plain_error(fmt::format("'{}' is no rule", shortened(rule)),
                                   "write rules as in peak>5%, floor>200M or leaking");
            rules.push_back({.text = std::string(rule)});
            continue;
        }
        const std::string_view name = trimmed(rule.substr(0, mark)), limit = trimmed(rule.substr(mark + 1));
        if (std::ranges::find(kNames, name) == std::end(kNames) && !name.starts_with("role ") &&
            !name.starts_with("gpu "))
            return plain_error(fmt::format("'{}' is not compared", shortened(name)),
                               fmt::format("one of {}, role NAME, gpu UUID", fmt::join(kNames, ", ")));
        FailRule made{.text = std::string(rule), .value = std::string(name)};
        if (limit.ends_with('%')) {
            const std::string_view digits = limit.substr(0, limit.size() - 1);
            const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), made.limit);
            if (code != std::errc{} || end != digits.data() + digits.size() || !(made.limit >= 0))
                return plain_error(fmt::format("'{}' is not a percentage", shortened(limit)), "write it as in peak>5%");
            made.limit /= 100;
            made.is_share = true;
        } else {
            const auto size = parse_size(limit);
            if (!size) return plain_error(size.error().where, "write it as in peak>5% or peak>200M");
            made.limit = number(*size);
        }
        rules.push_back(std::move(made));
    }
    return rules;
}

std::vector<RuleResult> check_rules(const std::vector<FailRule>& rules, const Comparison& comparison) {
    std::vector<RuleResult> results;
    for (const FailRule& rule : rules) {
        RuleResult result{.rule = rule};
        if (rule.value.empty()) {
            result.broken = std::ranges::find(comparison.head_verdicts, rule.text) != comparison.head_verdicts.end();
            result.why = fmt::format("the verdict is {}", fmt::join(comparison.head_verdicts, ", "));
            results.push_back(std::move(result));
            continue;
        }
        const auto found = std::ranges::find(comparison.values, rule.value, &Difference::name);
        if (found == comparison.values.end()) {
            // A gate that cannot be checked must not pass.
            result.broken = true;
            result.why = "no run has this value";
            results.push_back(std::move(result));
            continue;
        }
        const double limit = rule.is_share ? rule.limit * std::abs(found->base) : rule.limit;
        result.broken = found->beyond_noise && found->change() > limit;
        result.why = fmt::format("{} went from {} to {}", rule.value, fmt::format("{:.0f}", found->base),
                                 fmt::format("{:.0f}", found->head));
        if (found->unit == Unit::bytes)
            result.why = fmt::format("{} went from {} to {}", rule.value,
                                     human_size({static_cast<std::uint64_t>(std::max(found->base, 0.0))}),
                                     human_size({static_cast<std::uint64_t>(std::max(found->head, 0.0))}));
        if (!found->beyond_noise && found->change() > limit) result.why += ", which is within the spread of the runs";
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace memscope
