#include "review/compare.h"

#include <gmock/gmock.h>

#include "review/compare_text.h"
#include "support/json.h"

namespace memscope {
namespace compare_test {

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

// A run whose growth at the peak is known.
RunSummary with_peak_line(RunSummary run, PlaneKind plane, const char* function, int line, std::int64_t mib) {
    if (!run.peak_growth) run.peak_growth.emplace();
    run.peak_growth->plane(plane).sites.push_back({.bytes = mib * static_cast<std::int64_t>(kMiB),
                                                   .python = {{function, "/ci/build/train.py", line}},
                                                   .native = {{"mmap", "/lib/libc.so.6", 1}}});
    return run;
}

RunSummary with_holder(RunSummary run, const std::string& path, std::uint64_t mib) {
    if (run.last.targets.empty()) run.last.targets.resize(1);
    if (run.last.targets[0].heap.empty()) run.last.targets[0].heap.resize(1);
    auto& held = run.last.targets[0].heap[0].held;
    if (!held) held.emplace();
    held->holders.push_back({.holder = {.path = path, .type = "list", .retained = {mib * kMiB}}});
    return run;
}

TEST(Compare, NamesTheLineThatMakesTheDifferenceOfThePeak) {
    const RunSummary base = with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, 90);
    RunSummary head = with_peak_line(run_of(160), PlaneKind::mapped, "load", 3, 90);
    head = with_peak_line(head, PlaneKind::mapped, "validate", 60, 48);
    const Comparison lines = compare({base}, {head});
    EXPECT_TRUE(lines.sites_at_peak);
    ASSERT_EQ(lines.sites.size(), 1U);
    EXPECT_EQ(lines.sites[0].line, "train.py:60 validate");
    EXPECT_EQ(lines.sentence, "train.py:60 validate makes 48 MiB of the 60 MiB more at the peak.");
}

TEST(Compare, NamesALineThatIsGone) {
    const RunSummary base = with_peak_line(run_of(160), PlaneKind::tensors_host, "validate", 60, 58);
    RunSummary head = run_of(100);
    head.peak_growth.emplace();
    EXPECT_EQ(compare({base}, {head}).sentence, "train.py:60 validate makes 58 MiB of the 60 MiB less at the peak.");
}

TEST(Compare, CountsALineOnceThatTwoPlanesKnow) {
    RunSummary base = run_of(100);
    base.peak_growth.emplace();
    RunSummary head = with_peak_line(run_of(160), PlaneKind::mapped, "validate", 60, 55);
    head = with_peak_line(head, PlaneKind::tensors_host, "validate", 60, 50);
    head = with_peak_line(head, PlaneKind::resident, "validate", 60, 56);
    const Comparison lines = compare({base}, {head});
    EXPECT_EQ(lines.sentence, "train.py:60 validate makes 55 MiB of the 60 MiB more at the peak.");
    ASSERT_EQ(lines.sites.size(), 1U) << "the line that touched the memory first is not told again";
    EXPECT_EQ(lines.sites[0].plane, PlaneKind::mapped);
}

TEST(Compare, UsesMappingsIfOneRunHasNoTensors) {
    RunSummary base = with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, 32);
    base = with_peak_line(base, PlaneKind::tensors_host, "load", 3, 32);
    RunSummary head = with_peak_line(run_of(160), PlaneKind::mapped, "load", 3, 32);
    head = with_peak_line(head, PlaneKind::mapped, "validate", 60, 58);
    const Comparison lines = compare({base}, {head});
    EXPECT_EQ(lines.sites.size(), 1U);
    EXPECT_EQ(lines.sentence, "train.py:60 validate makes 58 MiB of the 60 MiB more at the peak.");
}

TEST(Compare, LabelsFirstTouches) {
    RunSummary base = run_of(100);
    base.peak_growth.emplace();
    const Comparison lines = compare({base}, {with_peak_line(run_of(160), PlaneKind::resident, "validate", 60, 48)});
    EXPECT_THAT(lines.sentence, HasSubstr("48 MiB at train.py:60 validate were first touched"));
    EXPECT_FALSE(lines.sites.at(0).knows_owner());
    EXPECT_THAT(comparison_text(lines, {}), HasSubstr("first touch"));
}

TEST(Compare, AllowsForTheSamplingOfFirstTouches) {
    const auto touched = [](std::int64_t mib) {
        return with_peak_line(run_of(100), PlaneKind::resident, "load", 3, mib);
    };
    EXPECT_TRUE(compare({touched(40)}, {touched(43)}).sites.empty());
    EXPECT_EQ(compare({touched(40)}, {touched(48)}).sites.size(), 1U);
}

TEST(Compare, DoesNotExplainThePeakWithMemoryThatWasNotTouched) {
    RunSummary base = run_of(100);
    base.peak_growth.emplace();
    RunSummary head = with_peak_line(run_of(160), PlaneKind::mapped, "reserve", 9, 4000);
    EXPECT_EQ(compare({base}, {head}).sentence, "");
    head = with_peak_line(head, PlaneKind::resident, "step", 5, 20);
    EXPECT_EQ(compare({base}, {head}).sentence, "");
}

TEST(Compare, DoesNotExplainThePeakWithGrowthOfTheEnd) {
    const Comparison lines = compare({with_line(run_of(100), "a.py", 20)}, {with_line(run_of(160), "a.py", 80)});
    EXPECT_FALSE(lines.sites_at_peak);
    EXPECT_EQ(lines.sentence, "");
    EXPECT_EQ(lines.sites.size(), 1U);
}

TEST(Compare, FindsALineAgainThatMovedWithinItsFunction) {
    const RunSummary base = with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, 90);
    RunSummary head = with_peak_line(run_of(160), PlaneKind::mapped, "load", 5, 91);
    head = with_peak_line(head, PlaneKind::mapped, "load", 9, 59);
    const Comparison lines = compare({base}, {head});
    ASSERT_EQ(lines.sites.size(), 1U);
    EXPECT_EQ(lines.sites[0].line, "train.py:9 load");
}

TEST(Compare, LetsTheSpreadOfTheRunsDecideAboutLines) {
    std::vector<RunSummary> base;
    for (const int mib : {10, 40}) base.push_back(with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, mib));
    EXPECT_TRUE(compare(base, {with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, 50)}).sites.empty());
    EXPECT_EQ(compare(base, {with_peak_line(run_of(100), PlaneKind::mapped, "load", 3, 60)}).sites.size(), 1U);
}

TEST(Compare, HasNoLinesIfOneRunHasNoGrowth) {
    EXPECT_TRUE(compare({run_of(100)}, {with_line(run_of(160), "a.py", 80)}).sites.empty());
}

TEST(Compare, FindsContainersThatRetainMore) {
    RunSummary base = with_holder(run_of(100), "run (train.py:88) history", 10);
    base = with_holder(base, "Trainer.cache", 30);
    RunSummary head = with_holder(run_of(160), "run (train.py:90) history", 70);
    head = with_holder(head, "Trainer.cache", 30);
    head = with_holder(head, "Trainer.extra", 5);
    const Comparison holders = compare({base}, {head});
    ASSERT_EQ(holders.holders.size(), 2U);
    EXPECT_EQ(holders.holders[0].path, "run (train.py) history");
    EXPECT_EQ(holders.holders[0].change(), 60.0 * kMiB);
    EXPECT_EQ(holders.holders[1].path, "Trainer.extra");
    EXPECT_FALSE(holders.holders[1].base) << "a list of the largest does not show that it was absent";
    EXPECT_THAT(comparison_text(holders, {}), HasSubstr("not listed before, 5.0 MiB now"));
}

TEST(Compare, HasNoHoldersIfOneSideHasNoCensus) {
    EXPECT_TRUE(compare({run_of(100)}, {with_holder(run_of(160), "Trainer.cache", 70)}).holders.empty());
}

TEST(Compare, AlignsRunsByPhase) {
    const auto run = [](std::uint64_t warmup, std::uint64_t plateau) {
        RunSummary made = run_of(std::max(warmup, plateau));
        made.warmup_peak = RunSummary::Top{{warmup * kMiB}, 0};
        made.plateau_peak = RunSummary::Top{{plateau * kMiB}, 0};
        return made;
    };
    const Comparison phases = compare({run(300, 100)}, {run(300, 150)});
    EXPECT_FALSE(value(phases, "peak").beyond_noise);
    EXPECT_FALSE(value(phases, "warmup_peak").beyond_noise);
    EXPECT_TRUE(value(phases, "plateau_peak").beyond_noise);
    EXPECT_TRUE(checked("plateau_peak>20%", phases).front().broken);
}

TEST(Compare, LeavesOutAValueThatOneRunLacks) {
    RunSummary with = run_of(100);
    with.plateau_peak = RunSummary::Top{{100 * kMiB}, 0};
    const Comparison some = compare({with}, {run_of(100)});
    EXPECT_THAT(some.left_out, testing::ElementsAre("plateau_peak"));
    const auto result = checked("plateau_peak>5%", some).front();
    EXPECT_TRUE(result.broken);
    EXPECT_THAT(result.why, HasSubstr("not every run has this value"));
    EXPECT_THAT(comparison_text(some, {}), HasSubstr("plateau_peak"));
}

TEST(Compare, HasNoFloorOfARunThatIsTooShortToJudge) {
    const Comparison brief = compare({run_of(100)}, {run_of(100, Verdict::insufficient)});
    EXPECT_THAT(brief.left_out, testing::ElementsAre("floor", "slope"));
}

TEST(Compare, MatchesGpusByTheirOrder) {
    const auto run = [](const char* first, const char* second) {
        RunSummary made = run_of(100);
        made.gpus[first] = {.peak = {10 * kMiB}, .index = 2};
        made.gpus[second] = {.peak = {20 * kMiB}, .index = 5};
        return made;
    };
    const Comparison gpus = compare({run("GPU-z", "GPU-a")}, {run("GPU-c", "GPU-d")});
    EXPECT_EQ(value(gpus, "gpu 0").base, 10.0 * kMiB);
    EXPECT_EQ(value(gpus, "gpu 1").base, 20.0 * kMiB);
    EXPECT_FALSE(value(gpus, "gpu 0").beyond_noise);
}

TEST(Compare, ChecksTheRateOfTheFloor) {
    RunSummary grows = run_of(100);
    grows.judgement->floor_slope = 2.0 * kMiB / 3600;
    EXPECT_TRUE(checked("slope>1M/h", compare({run_of(100)}, {grows})).front().broken);
    EXPECT_FALSE(checked("slope>3M/h", compare({run_of(100)}, {grows})).front().broken);
    EXPECT_TRUE(checked("slope>10K/min", compare({run_of(100)}, {grows})).front().broken);
    RunSummary falls = run_of(100), falls_slower = run_of(100);
    falls.judgement->floor_slope = -9.0 * kMiB / 3600;
    falls_slower.judgement->floor_slope = -2.0 * kMiB / 3600;
    EXPECT_FALSE(checked("slope>1M/h", compare({falls}, {falls_slower})).front().broken) << "it still falls";
    grows.judgement->floor_slope_error = 1.0 * kMiB / 3600;
    const auto uncertain = checked("slope>1M/h", compare({run_of(100)}, {grows})).front();
    EXPECT_FALSE(uncertain.broken) << "a short run has an uncertain slope";
    EXPECT_THAT(uncertain.why, HasSubstr("within the noise of one run"));
}

TEST(FailRules, RateRulesNeedAUnitOfTime) {
    EXPECT_THAT(parse_fail_rules("slope>1M").error().message(), HasSubstr("slope>1M/h"));
    EXPECT_FALSE(parse_fail_rules("slope>5%"));
    EXPECT_FALSE(parse_fail_rules("slope>1M/week"));
    EXPECT_FALSE(parse_fail_rules("peak>1M/h"));
    EXPECT_DOUBLE_EQ(parse_fail_rules("slope>1M/h")->front().limit, 1.0 * kMiB / 3600);
    EXPECT_FALSE(parse_fail_rules("processes>2M"));
    EXPECT_EQ(parse_fail_rules("processes>2")->front().limit, 2);
}

TEST(FailRules, RefusesInvalidRules) {
    for (const char* text :
         {"", "peak", "peak>", "peak>x%", "peak>-1%", "top>5%", "peak>5%,", "leaking>5%", "peak>nan%"})
        EXPECT_FALSE(parse_fail_rules(text)) << text;
    EXPECT_EQ(parse_fail_rules(" peak > 5% , leaking")->size(), 2U);
}

TEST(ComparisonText, HasAllFormats) {
    const Comparison more = compare({with_line(run_of(100), "old.py", 20)}, {with_line(run_of(160), "<&\"|.py", 80)});
    const auto rules = checked("peak>5%,leaking", more);
    EXPECT_THAT(comparison_text(more, rules), HasSubstr("+60 MiB (+60.0 %)"));
    EXPECT_THAT(comparison_text(more, rules), HasSubstr("BROKEN: peak>5%: peak went from 100 MiB to 160 MiB"));
    EXPECT_THAT(comparison_markdown(more, rules), HasSubstr("| peak | 100 MiB | 160 MiB | **+60 MiB (+60.0 %)** |"));
    EXPECT_THAT(comparison_markdown(more, rules), HasSubstr("\\|.py"));
    const std::string junit = comparison_junit(more, rules);
    EXPECT_THAT(junit, HasSubstr("tests=\"2\" failures=\"1\""));
    EXPECT_THAT(junit, HasSubstr("name=\"peak&gt;5%\""));
    EXPECT_THAT(junit, Not(HasSubstr("peak>5%")));
    EXPECT_THAT(junit, HasSubstr("role trainer")) << "the whole comparison is in the output";
    const auto json = nlohmann::json::parse(comparison_json(more, rules));
    EXPECT_EQ(json["rules"][0]["broken"], true);
    EXPECT_EQ(json["values"][0]["name"], "peak");
}

}  // namespace compare_test
}  // namespace memscope
