#include "review/compare.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "base/text.h"
#include "review/compare_sites.h"

namespace memscope {
namespace {

using Unit = Difference::Unit;

// Differences below these are noise, even if each side has only one run.
constexpr double kLeastShare = 0.01;
constexpr double kLeastBytes = 1 << 20;
constexpr double kSlopeErrors = 3;  // standard errors by which two slopes must differ

// These values come first, in this order. They are compared only if all runs have them. Values of roles and GPUs
// follow. If a run does not have a role or a GPU, the value counts as 0.
constexpr std::array<std::string_view, 7> kNames = {"peak",  "kernel_peak", "warmup_peak", "plateau_peak",
                                                    "floor", "slope",       "processes"};

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

struct Value {
    Unit unit = Unit::bytes;
    double value = 0;
    double error = 0;  // standard error, for a slope
};
// Values of a run by name.
using Values = std::map<std::string, Value>;

double number(Bytes bytes) { return static_cast<double>(bytes.n); }

// Names GPUs by their order on the host, because the same job may get other devices in another run.
void add_gpus(const RunSummary& run, Values& values) {
    std::vector<const std::pair<const GpuId, RunSummary::GpuPart>*> all;
    all.reserve(run.gpus.size());
    for (const auto& each : run.gpus) all.push_back(&each);
    std::ranges::stable_sort(all, {}, [](const auto* each) { return each->second.index.value_or(UINT_MAX); });
    for (std::size_t i = 0; i < all.size(); ++i)
        values[fmt::format("gpu {}", i)] = {Unit::bytes, number(all[i]->second.peak)};
}

Values values_of(const RunSummary& run) {
    Values values;
    values["peak"] = {Unit::bytes, number(run.peak.bytes)};
    // A high-water mark that was reached before the recording began is not of this run.
    if (run.kernel_peak && run.kernel_peak_time) values["kernel_peak"] = {Unit::bytes, number(*run.kernel_peak)};
    if (run.warmup_peak) values["warmup_peak"] = {Unit::bytes, number(run.warmup_peak->bytes)};
    if (run.plateau_peak) values["plateau_peak"] = {Unit::bytes, number(run.plateau_peak->bytes)};
    if (run.judgement && run.judgement->verdict != Verdict::insufficient) {
        values["floor"] = {Unit::bytes, number(run.judgement->floor)};
        values["slope"] = {Unit::bytes_per_second, run.judgement->floor_slope, run.judgement->floor_slope_error};
    }
    values["processes"] = {Unit::count, static_cast<double>(run.most_processes)};
    for (const auto& [name, part] : run.roles) values["role " + name] = {Unit::bytes, number(part.peak)};
    add_gpus(run, values);
    return values;
}

std::vector<Values> values_of(const std::vector<RunSummary>& runs) {
    std::vector<Values> all;
    all.reserve(runs.size());
    for (const RunSummary& run : runs) all.push_back(values_of(run));
    return all;
}

// One value in all runs of a side.
struct Column {
    std::vector<double> values{};
    double error = 0;
    Unit unit = Unit::bytes;
    bool complete = true;
};
Column column_of(const std::vector<Values>& runs, const std::string& name) {
    Column column;
    for (const Values& run : runs) {
        const auto found = run.find(name);
        column.complete = column.complete && found != run.end();
        column.values.push_back(found == run.end() ? 0 : found->second.value);
        if (found == run.end()) continue;
        column.unit = found->second.unit;
        column.error = std::max(column.error, std::abs(found->second.error));
    }
    return column;
}

Difference difference_of(const std::string& name, const Column& base, const Column& head) {
    Difference result{.name = name, .unit = std::max(base.unit, head.unit)};
    result.base = median(base.values);
    result.head = median(head.values);
    result.spread = std::max(spread_of(base.values), spread_of(head.values));
    result.noise = std::max(
        {result.spread, least_of(result.unit, result.base), kSlopeErrors * std::hypot(base.error, head.error)});
    result.beyond_noise = std::abs(result.change()) > result.noise;
    return result;
}

std::vector<std::string> verdicts(const std::vector<RunSummary>& runs) {
    std::vector<std::string> words;
    words.reserve(runs.size());
    for (const RunSummary& run : runs)
        words.emplace_back(word(run.judgement ? run.judgement->verdict : Verdict::insufficient));
    return words;
}

bool is_plain_name(std::string_view name) { return std::ranges::find(kNames, name) != kNames.end(); }

}  // namespace

std::optional<double> Difference::share() const {
    return base == 0 ? std::nullopt : std::optional(change() / std::abs(base));
}

std::string value_text(Unit unit, double value) {
    const std::string sign = value < 0 ? "-" : "";
    switch (unit) {
        case Unit::bytes:
            return sign + human_size({static_cast<std::uint64_t>(std::min(std::abs(value), 1e18))});
        case Unit::bytes_per_second:
            return human_rate(value);
        case Unit::count:
            return fmt::format("{:.0f}", value);
    }
    return {};
}

Comparison compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head) {
    const std::vector<Values> before = values_of(base), after = values_of(head);
    std::vector<std::string> names(kNames.begin(), kNames.end());
    std::set<std::string> parts;  // roles and GPUs
    for (const auto* side : {&before, &after})
        for (const Values& run : *side)
            for (const auto& [name, value] : run)
                if (!is_plain_name(name)) parts.insert(name);
    names.insert(names.end(), parts.begin(), parts.end());
    Comparison result;
    for (const std::string& name : names) {
        const Column of_base = column_of(before, name), of_head = column_of(after, name);
        const bool some = std::ranges::any_of(before, [&](const Values& run) { return run.contains(name); }) ||
                          std::ranges::any_of(after, [&](const Values& run) { return run.contains(name); });
        if (!some) continue;
        if (is_plain_name(name) && !(of_base.complete && of_head.complete))
            result.left_out.push_back(name);
        else
            result.values.push_back(difference_of(name, of_base, of_head));
    }
    compare_sites(base, head, result);
    compare_holders(base, head, result);
    result.base_verdicts = verdicts(base);
    result.head_verdicts = verdicts(head);
    return result;
}

namespace {

constexpr const char* kAdviceForRules = "write rules as in peak>5%, floor>200M, slope>1M/h, processes>2 or leaking";

// "1M/h": bytes per second.
Result<double> parse_rate(std::string_view text) {
    const auto mark = text.find('/');
    if (mark == std::string_view::npos)
        return plain_error(fmt::format("'{}' is not a rate", shortened(text)), "write it as in slope>1M/h");
    const std::string_view per = trimmed(text.substr(mark + 1));
    const double seconds = per == "s" ? 1 : per == "min" ? 60 : per == "h" ? 3600 : per == "d" ? 86400 : 0;
    const auto size = parse_size(trimmed(text.substr(0, mark)));
    if (!size || seconds == 0)
        return plain_error(fmt::format("'{}' is not a rate", shortened(text)),
                           "write it as in slope>1M/h; the unit of time is s, min, h or d");
    return number(*size) / seconds;
}

Result<double> parse_percent(std::string_view text) {
    const std::string_view digits = text.substr(0, text.size() - 1);
    double percent = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    if (code != std::errc{} || end != digits.data() + digits.size() || !(percent >= 0))
        return plain_error(fmt::format("'{}' is not a percentage", shortened(text)), "write it as in peak>5%");
    return percent / 100;
}

// The part of a rule after '>'.
Status parse_limit(std::string_view text, FailRule& rule) {
    const auto set = [&rule](const Result<double>& limit) -> Status {
        if (!limit) return limit.error();
        rule.limit = *limit;
        return Done{};
    };
    // A slope is near 0 in a healthy job, so a share of it means nothing.
    if (rule.value == "slope") return set(parse_rate(text));
    if (text.ends_with('%')) {
        rule.is_share = true;
        return set(parse_percent(text));
    }
    if (rule.value == "processes") {
        const auto count = parse_number(text);
        if (!count)
            return plain_error(fmt::format("'{}' is not a number", shortened(text)), "write it as in processes>2");
        rule.limit = static_cast<double>(*count);
        return Done{};
    }
    const auto size = parse_size(text);
    if (!size) return plain_error(size.error().where, "write it as in peak>5% or peak>200M");
    rule.limit = number(*size);
    return Done{};
}

std::string why_text(const Difference& found, bool within) {
    std::string text = fmt::format("{} went from {} to {}", printable(found.name), value_text(found.unit, found.base),
                                   value_text(found.unit, found.head));
    if (!within) return text;
    return fmt::format("{}, which is within {}", text,
                       found.spread >= found.noise ? "the spread of the runs" : "the noise of one run");
}

}  // namespace

Result<std::vector<FailRule>> parse_fail_rules(std::string_view text) {
    std::vector<FailRule> rules;
    for (const std::string_view part : split(text, ',')) {
        const std::string_view rule = trimmed(part);
        const auto mark = rule.find('>');
        if (mark == std::string_view::npos) {
            if (!verdict_of(rule))
                return plain_error(fmt::format("'{}' is not a rule", shortened(rule)), kAdviceForRules);
            rules.push_back({.text = std::string(rule)});
            continue;
        }
        const std::string_view name = trimmed(rule.substr(0, mark)), limit = trimmed(rule.substr(mark + 1));
        if (!is_plain_name(name) && !name.starts_with("role ") && !name.starts_with("gpu "))
            return plain_error(fmt::format("'{}' is not compared", shortened(name)),
                               fmt::format("one of {}, role NAME, gpu NUMBER", fmt::join(kNames, ", ")));
        FailRule made{.text = std::string(rule), .value = std::string(name)};
        if (auto parsed = parse_limit(limit, made); !parsed) return parsed.error();
        rules.push_back(std::move(made));
    }
    return rules;
}

std::vector<RuleResult> check_rules(const std::vector<FailRule>& rules, const Comparison& comparison) {
    std::vector<RuleResult> results;
    for (const FailRule& rule : rules) {
        RuleResult& result = results.emplace_back(RuleResult{.rule = rule});
        if (rule.value.empty()) {
            result.broken = std::ranges::find(comparison.head_verdicts, rule.text) != comparison.head_verdicts.end();
            result.why = fmt::format("the verdict is {}", fmt::join(comparison.head_verdicts, ", "));
            continue;
        }
        const auto found = std::ranges::find(comparison.values, rule.value, &Difference::name);
        if (found == comparison.values.end()) {
            // A rule that cannot be checked counts as broken, so that a CI job does not pass without a check.
            const bool some = std::ranges::find(comparison.left_out, rule.value) != comparison.left_out.end();
            result.broken = true;
            result.why = some                        ? "not every run has this value: a run may be too short"
                         : is_plain_name(rule.value) ? "no run has this value: the runs may be too short"
                                                     : "no run has this value";
            continue;
        }
        const double limit = rule.is_share ? rule.limit * std::abs(found->base) : rule.limit;
        // A floor that falls more slowly than before is no leak.
        const bool rises = found->unit != Unit::bytes_per_second || found->head > limit;
        const bool above = found->change() > limit && rises;
        result.broken = found->beyond_noise && above;
        result.why = why_text(*found, above && !found->beyond_noise);
    }
    return results;
}

}  // namespace memscope
