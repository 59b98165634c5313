#include "review/compare.h"

#include <gmock/gmock.h>

#include "review/compare_text.h"
#include "support/json.h"

namespace memscope {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = 1U << 20U;

RunSummary run_of(std::uint64_t peak_mib, Verdict verdict = Verdict::stable) {
    RunSummary run{.target = "train"};
    run.peak.bytes = {peak_mib * kMiB};
    run.judgement = Judgement{.verdict = verdict, .floor = {peak_mib * kMiB / 2}};
    run.roles["trainer"] = {.peak = {peak_mib * kMiB}, .most_processes = 1};
    return run;
}

RunSummary with_line(RunSummary run, const std::string& file, std::int64_t mib) {
    run.growth.emplace().resident.sites.push_back(
        {.bytes = mib * static_cast<std::int64_t>(kMiB), .python = {{"step", file, 7}}});
    return run;
}

std::vector<RuleResult> checked(const std::string& rules, const Comparison& comparison) {
    const auto parsed = parse_fail_rules(rules);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message());
    return check_rules(*parsed, comparison);
}

const Difference& value(const Comparison& comparison, const std::string& name) {
    return *std::ranges::find(comparison.values, name, &Difference::name);
}

TEST(Compare, FindsNoDifferenceBetweenARunAndItself) {
    const Comparison same = compare({run_of(100)}, {run_of(100)});
    for (const Difference& each : same.values) EXPECT_FALSE(each.beyond_noise) << each.name;
    EXPECT_FALSE(checked("peak>0%", same).front().broken);
}

TEST(Compare, FindsMoreMemory) {
    const Comparison more = compare({run_of(100)}, {run_of(160)});
    EXPECT_TRUE(value(more, "peak").beyond_noise);
    EXPECT_TRUE(value(more, "floor").beyond_noise);
    EXPECT_TRUE(value(more, "role trainer").beyond_noise);
    EXPECT_TRUE(checked("peak>5%", more).front().broken);
    EXPECT_FALSE(checked("peak>70%", more).front().broken);
    EXPECT_TRUE(checked("peak>50M", more).front().broken);
    EXPECT_FALSE(checked("peak>61M", more).front().broken);
    EXPECT_FALSE(checked("peak>5%", compare({run_of(160)}, {run_of(100)})).front().broken);  // less is fine
}

TEST(Compare, LetsTheSpreadOfTheRunsDecide) {
    const std::vector<RunSummary> noisy{run_of(100), run_of(130), run_of(115)};
    const Comparison within = compare(noisy, {run_of(130)});
    EXPECT_FALSE(value(within, "peak").beyond_noise);
    const auto result = checked("peak>5%", within).front();
    EXPECT_FALSE(result.broken);
    EXPECT_THAT(result.why, HasSubstr("within the spread"));
    EXPECT_TRUE(checked("peak>5%", compare(noisy, {run_of(150)})).front().broken);
}

TEST(Compare, BreaksARuleIfOneRunHasTheVerdict) {
    const Comparison leaks = compare({run_of(100)}, {run_of(100), run_of(100, Verdict::leaking)});
    EXPECT_TRUE(checked("leaking", leaks).front().broken);
    EXPECT_FALSE(checked("leaking", compare({run_of(100, Verdict::leaking)}, {run_of(100)})).front().broken);
}

TEST(Compare, BreaksARuleThatItCannotCheck) {
    EXPECT_TRUE(checked("gpu GPU-1>5%", compare({run_of(100)}, {run_of(100)})).front().broken);
}

TEST(Compare, CountsARoleThatOneSideLacksAsNothing) {
    RunSummary more = run_of(100);
    more.roles["dataloader_worker"] = {.peak = {50 * kMiB}, .most_processes = 4};
    const Comparison comparison = compare({run_of(100)}, {more});
    EXPECT_EQ(value(comparison, "role dataloader_worker").base, 0);
    EXPECT_TRUE(value(comparison, "role dataloader_worker").beyond_noise);
}

TEST(Compare, NamesTheLinesThatMakeTheDifference) {
    const Comparison lines = compare({with_line(run_of(100), "old.py", 20)}, {with_line(run_of(160), "new.py", 80)});
    ASSERT_EQ(lines.sites.size(), 2U);
    EXPECT_THAT(lines.sites[0].line, HasSubstr("new.py:7"));
    EXPECT_EQ(lines.sites[0].head, 80.0 * kMiB);
    EXPECT_THAT(lines.sites[1].line, HasSubstr("old.py:7"));
    EXPECT_EQ(lines.sites[1].head, 0);
}

TEST(FailRules, AreRefusedIfTheyAreNone) {
    for (const char* text :
         {"", "peak", "peak>", "peak>x%", "peak>-1%", "top>5%", "peak>5%,", "leaking>5%", "peak>nan%"})
        EXPECT_FALSE(parse_fail_rules(text)) << text;
    EXPECT_EQ(parse_fail_rules(" peak > 5% , leaking")->size(), 2U);
}

TEST(ComparisonText, HasAllFormats) {
    const Comparison more = compare({run_of(100)}, {with_line(run_of(160), "<&\"|.py", 80)});
    const auto rules = checked("peak>5%,leaking", more);
    EXPECT_THAT(comparison_text(more, rules), HasSubstr("+60 MiB (+60.0 %)"));
    EXPECT_THAT(comparison_text(more, rules), HasSubstr("BROKEN: peak>5%: peak went from 100 MiB to 160 MiB"));
    EXPECT_THAT(comparison_markdown(more, rules), HasSubstr("| peak | 100 MiB | 160 MiB | **+60 MiB (+60.0 %)** |"));
    EXPECT_THAT(comparison_markdown(more, rules), HasSubstr("\\|.py"));
    const std::string junit = comparison_junit(more, rules);
    EXPECT_THAT(junit, HasSubstr("tests=\"2\" failures=\"1\""));
    EXPECT_THAT(junit, HasSubstr("name=\"peak&gt;5%\""));
    EXPECT_THAT(junit, Not(HasSubstr("peak>5%")));
    const auto json = nlohmann::json::parse(comparison_json(more, rules));
    EXPECT_EQ(json["rules"][0]["broken"], true);
    EXPECT_EQ(json["values"][0]["name"], "peak");
}

}  // namespace
}  // namespace memscope
