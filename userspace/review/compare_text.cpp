#include "review/compare_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "outputs/json/json_writer.h"

namespace memscope {
namespace {

using Unit = Difference::Unit;

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

std::string change_text(const Difference& difference) {
    const std::string amount = (difference.change() > 0 ? "+" : "") + value_text(difference.unit, difference.change());
    const auto share = difference.share();
    if (!share || difference.unit == Unit::bytes_per_second) return amount;
    return fmt::format("{} ({:+.1f} %)", amount, *share * 100);
}

std::string verdict_line(const Comparison& comparison) {
    return fmt::format("verdict: {} before, {} now", fmt::join(comparison.base_verdicts, ", "),
                       fmt::join(comparison.head_verdicts, ", "));
}

std::string site_change(const SiteDifference& site) {
    const double change = site.head - site.base;
    return (change > 0 ? "+" : "") + value_text(Unit::bytes, change);
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

}  // namespace

std::string comparison_text(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    std::string text = fmt::format("{:<24} {:>14} {:>14}  {}\n", "", "BASE", "HEAD", "CHANGE");
    for (const Difference& each : comparison.values)
        text += fmt::format("{:<24} {:>14} {:>14}  {}\n", printable(each.name), value_text(each.unit, each.base),
                            value_text(each.unit, each.head),
                            each.beyond_noise ? change_text(each) : std::string("within the noise"));
    text += verdict_line(comparison) + "\n";
    if (!comparison.sites.empty()) text += "\nlines that hold more or less:\n";
    for (const SiteDifference& site : comparison.sites)
        text += fmt::format("  {:>12}  {}\n", site_change(site), printable(site.line));
    if (!rules.empty()) text += "\n";
    for (const RuleResult& rule : rules) text += rule_line(rule) + "\n";
    return text;
}

std::string comparison_markdown(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    std::string text = "| memory | base | head | change |\n| --- | ---: | ---: | --- |\n";
    for (const Difference& each : comparison.values)
        text += fmt::format("| {} | {} | {} | {} |\n", cell(each.name), value_text(each.unit, each.base),
                            value_text(each.unit, each.head),
                            each.beyond_noise ? "**" + change_text(each) + "**" : std::string("within the noise"));
    text += "\n" + cell(verdict_line(comparison)) + "\n";
    if (!comparison.sites.empty()) text += "\n| line | change |\n| --- | ---: |\n";
    for (const SiteDifference& site : comparison.sites)
        text += fmt::format("| {} | {} |\n", cell(site.line), site_change(site));
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
        text += result.broken ? fmt::format(">\n    <failure message=\"{}\"/>\n  </testcase>\n", xml(result.why))
                              : std::string("/>\n");
    }
    text += fmt::format("  <system-out>{}</system-out>\n</testsuite>\n", xml(verdict_line(comparison)));
    return text;
}

std::string comparison_json(const Comparison& comparison, const std::vector<RuleResult>& rules) {
    JsonWriter json;
    json.object([&] {
        json.list("values", [&] {
            for (const Difference& each : comparison.values)
                json.object([&] {
                    json.field("name", each.name);
                    json.field("unit", each.unit == Unit::bytes              ? "bytes"
                                       : each.unit == Unit::bytes_per_second ? "bytes_per_second"
                                                                             : "count");
                    json.field("base", each.base);
                    json.field("head", each.head);
                    json.field("spread", each.spread);
                    json.field("beyond_noise", each.beyond_noise);
                });
        });
        json.list("lines", [&] {
            for (const SiteDifference& site : comparison.sites)
                json.object([&] {
                    json.field("line", site.line);
                    json.field("base_bytes", site.base);
                    json.field("head_bytes", site.head);
                });
        });
        const auto words = [&json](const char* name, const std::vector<std::string>& verdicts) {
            json.list(name, [&] {
                for (const std::string& each : verdicts) json.value(each);
            });
        };
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
