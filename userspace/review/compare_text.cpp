#include "review/compare_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "outputs/json/json_writer.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace {

using Unit = Difference::Unit;

std::string signed_text(Unit unit, double change) { return (change > 0 ? "+" : "") + value_text(unit, change); }

std::string change_text(const Difference& difference) {
    std::string amount = signed_text(difference.unit, difference.change());
    const auto share = difference.share();
    if (!share || difference.unit == Unit::bytes_per_second) return amount;
    return fmt::format("{} ({:+.1f} %)", amount, *share * 100);
}

// The verdicts as phrases for users, from the words of JSON.
std::string phrases(const std::vector<std::string>& words) {
    std::vector<std::string> said;
    said.reserve(words.size());
    for (const std::string& each : words) {
        const auto verdict = verdict_of(each);
        said.emplace_back(verdict ? phrase(*verdict) : std::string_view(each));
    }
    return fmt::format("{}", fmt::join(said, ", "));
}

std::string verdict_line(const Comparison& comparison) {
    return fmt::format("verdict: {} before, {} now", phrases(comparison.base_verdicts),
                       phrases(comparison.head_verdicts));
}

std::string left_out_line(const Comparison& comparison) {
    if (comparison.left_out.empty()) return {};
    return fmt::format("not compared, because not every run has a value: {}", fmt::join(comparison.left_out, ", "));
}

// How the plane knows the line.
std::string_view meaning(PlaneKind plane) {
    switch (plane) {
        case PlaneKind::resident:
            return "first touch";
        case PlaneKind::mapped:
            return "mapped";
        case PlaneKind::tensors_host:
            return "host tensors";
        case PlaneKind::gpu:
            return "GPU";
        case PlaneKind::pinned:
            return "pinned";
    }
    return "";
}

std::string sites_title(const Comparison& comparison) {
    return fmt::format("lines that hold more or less {}", comparison.sites_at_peak ? "at the peak" : "at the end");
}

std::string held_text(const std::optional<double>& bytes) {
    return bytes ? value_text(Unit::bytes, *bytes) : std::string("not listed");
}

std::string rule_line(const RuleResult& result) {
    return fmt::format("{}: {}: {}", result.broken ? "BROKEN" : "kept", result.rule.text, result.why);
}

std::string xml(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

// A cell of a Markdown table. Names of processes can contain its special characters.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

const char* unit_name(Unit unit) {
    return unit == Unit::bytes ? "bytes" : unit == Unit::bytes_per_second ? "bytes_per_second" : "count";
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    std::string text = comparison.sentence.empty() ? std::string() : wrapped(comparison.sentence) + "\n";
    text += fmt::format("{:<24} {:>14} {:>14}  {}\n", "", "BASE", "HEAD", "CHANGE");
    for (const Difference& each : comparison.values)
        text += fmt::format("{:<24} {:>14} {:>14}  {}\n", printable(each.name), value_text(each.unit, each.base),
                            value_text(each.unit, each.head),
                            each.beyond_noise ? change_text(each) : std::string("within the noise"));
    if (!comparison.left_out.empty()) text += wrapped(left_out_line(comparison));
    text += verdict_line(comparison) + "\n";
    if (!comparison.sites.empty()) text += "\n" + sites_title(comparison) + ":\n";
    for (const SiteDifference& site : comparison.sites)
        text += fmt::format("  {:>10}  {:<12} {} {}\n", signed_text(Unit::bytes, site.change()), meaning(site.plane),
                            left(site.role, 19), site.line);
    if (!comparison.holders.empty()) text += "\ncontainers that retain more or less at the last census:\n";
    for (const HolderDifference& holder : comparison.holders)
        text += fmt::format("  {:>10}  {} ({}), {} before, {} now\n", signed_text(Unit::bytes, holder.change()),
                            holder.path, holder.type, held_text(holder.base), held_text(holder.head));
    if (!rules.empty()) text += "\n";
    for (const RuleResult& rule : rules) text += rule_line(rule) + "\n";
    return text;
}

std::string comparison_markdown(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    std::string text = comparison.sentence.empty() ? std::string() : "**" + cell(comparison.sentence) + "**\n\n";
    text += "| memory | base | head | change |\n| --- | ---: | ---: | --- |\n";
    for (const Difference& each : comparison.values)
        text += fmt::format("| {} | {} | {} | {} |\n", cell(each.name), value_text(each.unit, each.base),
                            value_text(each.unit, each.head),
                            each.beyond_noise ? "**" + change_text(each) + "**" : std::string("within the noise"));
    if (!comparison.left_out.empty()) text += "\n" + cell(left_out_line(comparison)) + "\n";
    text += "\n" + cell(verdict_line(comparison)) + "\n";
    if (!comparison.sites.empty())
        text +=
            fmt::format("\n| {} | known by | role | change |\n| --- | --- | --- | ---: |\n", sites_title(comparison));
    for (const SiteDifference& site : comparison.sites)
        text += fmt::format("| {} | {} | {} | {} |\n", cell(site.line), meaning(site.plane), cell(site.role),
                            signed_text(Unit::bytes, site.change()));
    if (!comparison.holders.empty()) text += "\n| container | base | head |\n| --- | ---: | ---: |\n";
    for (const HolderDifference& holder : comparison.holders)
        text += fmt::format("| {} ({}) | {} | {} |\n", cell(holder.path), cell(holder.type), held_text(holder.base),
                            held_text(holder.head));
    if (!rules.empty()) text += "\n";
    for (const RuleResult& rule : rules) text += "- " + cell(rule_line(rule)) + "\n";
    return text;
}

std::string comparison_junit(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    const auto broken = std::ranges::count(rules, true, &RuleResult::broken);
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    text += fmt::format("<testsuite name=\"memscope compare\" tests=\"{}\" failures=\"{}\">\n", rules.size(), broken);
    for (const RuleResult& result : rules) {
        text += fmt::format("  <testcase classname=\"memscope\" name=\"{}\"", xml(result.rule.text));
        text += result.broken ? fmt::format(">\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                                            xml(result.why), xml(comparison.sentence))
                              : std::string("/>\n");
    }
    // The whole comparison, because a CI system shows it beside the failure.
    std::string whole;
    for_each_line(comparison_text(comparison, rules), [&](std::string_view line) { whole += xml(line) + "\n"; });
    text += fmt::format("  <system-out>{}</system-out>\n</testsuite>\n", whole);
    return text;
}

std::string comparison_json(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    JsonWriter json;
    json.object([&] {
        json.field("sentence",
                   comparison.sentence.empty() ? std::nullopt : std::optional<std::string>(comparison.sentence));
        json.list("values", [&] {
            for (const Difference& each : comparison.values)
                json.object([&] {
                    json.field("name", each.name);
                    json.field("unit", unit_name(each.unit));
                    json.field("base", each.base);
                    json.field("head", each.head);
                    json.field("spread", each.spread);
                    json.field("noise", each.noise);
                    json.field("beyond_noise", each.beyond_noise);
                });
        });
        const auto words = [&json](const char* name, const std::vector<std::string>& all) {
            json.list(name, [&] {
                for (const std::string& each : all) json.value(each);
            });
        };
        words("not_compared", comparison.left_out);
        json.field("lines_at", comparison.sites_at_peak ? "peak" : "end");
        json.list("lines", [&] {
            for (const SiteDifference& site : comparison.sites)
                json.object([&] {
                    json.field("line", site.line);
                    json.field("plane", name_of(site.plane));
                    json.field("owner", site.knows_owner());
                    json.field("role", site.role);
                    json.field("base_bytes", site.base);
                    json.field("head_bytes", site.head);
                    json.field("spread_bytes", site.spread);
                });
        });
        json.list("holders", [&] {
            for (const HolderDifference& holder : comparison.holders)
                json.object([&] {
                    json.field("path", holder.path);
                    json.field("type", holder.type);
                    json.field("base_bytes", holder.base);
                    json.field("head_bytes", holder.head);
                    json.field("spread_bytes", holder.spread);
                });
        });
        words("base_verdicts", comparison.base_verdicts);
        words("head_verdicts", comparison.head_verdicts);
        json.list("rules", [&] {
            for (const RuleResult& result : rules)
                json.object([&] {
                    json.field("rule", result.rule.text);
                    json.field("broken", result.broken);
                    json.field("why", result.why);
                });
        });
    });
    return json.text() + "\n";
}

}  // namespace memscope
