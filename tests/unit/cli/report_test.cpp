#include "cli/report.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/read_report.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"
#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/json.h"

namespace memscope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ReadReport, ReadsBackAllThatPeopleAreShown) {
    DeathReport report = test::dead_job_on_gpus();
    Death bus = report.deaths[0];
    bus.cause = DeathCause::sigbus;
    bus.oom.reset();
    bus.mapping = FullFile{"block", "tmpfs", "/dev/shm"};
    Death failed = bus;
    failed.cause = DeathCause::alloc_failed;
    failed.mapping.reset();
    failed.allocation = FailedAllocation{
        .call = "fallocate", .reason = "enospc", .size = Bytes{5}, .before_exit = Seconds{0.5}, .file = bus.mapping};
    report.deaths.insert(report.deaths.end(), {bus, failed});
    report.then.targets[0].sharing.explanation = "3 workers copied";
    report.then.targets[0].shm = ShmUsage{Bytes{1}, Bytes{2}};
    report.then.targets[0].memory.peak = Bytes{600 << 20};
    Process& worker = report.then.targets[0].processes.back();
    worker.inherited = Bytes{worker.task.memory->anon.n / 2};
    report.then.targets[0].roles[{worker.role, worker.rank}].inherited = worker.inherited;
    const auto read = parse_report(death_report_json(report));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(death_story(*read, false), death_story(report, false));
    EXPECT_THAT(death_story(*read, false), HasSubstr("60 GiB here (18 GiB cached or fragmented), 10 GiB others"));
    // Written again it is the same: nothing was lost on the way.
    DeathReport again = *read;
    EXPECT_EQ(json::parse(death_report_json(again))["deaths"], json::parse(death_report_json(report))["deaths"]);
    EXPECT_EQ(json::parse(death_report_json(again))["series"], json::parse(death_report_json(report))["series"]);
    EXPECT_EQ(json::parse(death_report_json(again))["then"]["gpu"],
              json::parse(death_report_json(report))["then"]["gpu"]);
}

TEST(ReadReport, KnowsWhatTheVerdictHasSaidAlready) {
    DeathReport report = test::dead_job();
    TargetSnapshot& target = report.then.targets[0];
    target.sharing.explanation = "3 workers copied";
    EXPECT_THAT(death_story(*parse_report(death_report_json(report)), false), HasSubstr("3 workers copied"));
    target.verdicts.at(0).cause = GrowthCause{.kind = GrowthCause::Kind::unsharing, .bytes = {1}, .share = 0.9};
    EXPECT_THAT(death_story(*parse_report(death_report_json(report)), false), Not(HasSubstr("3 workers copied")));
}

TEST(ReadReport, EveryTruncationIsAnErrorOfOneLine) {
    const std::string whole = death_report_json(test::dead_job());
    for (std::size_t length = 0; length < whole.size(); length += 97) {
        const auto read = parse_report(std::string_view(whole).substr(0, length));
        ASSERT_FALSE(read) << length;
        EXPECT_EQ(printable(read.error().message()), read.error().message());
    }
}

TEST(ReadReport, OtherFilesAreToldApart) {
    EXPECT_THAT(parse_report("").error().message(), HasSubstr("no JSON"));
    EXPECT_THAT(parse_report("[]").error().message(), HasSubstr("no report of a death"));
    EXPECT_THAT(parse_report("{\"report\": \"death\", \"version\": 2}").error().message(),
                HasSubstr("another version"));
    EXPECT_THAT(parse_report("{\"report\": \"death\", \"version\": 1, \"deaths\": []}").error().message(),
                HasSubstr("tells of no death"));
    EXPECT_FALSE(parse_report(std::string(1'000'000, '[')));
    EXPECT_FALSE(parse_report("{\"report\": \"death\", \"version\": 1e999}"));
}

// Every value of a right report, replaced by some that nobody would write there.
TEST(ReadReport, AnyFieldMayBeAnything) {
    DeathReport report = test::dead_job_on_gpus();
    report.series.resize(2);
    const json right = json::parse(death_report_json(report));
    const std::vector<json> odd{nullptr,
                                -1,
                                1e300,
                                18446744073709551615ULL,
                                "\x1b[2J\n",
                                json::array(),
                                json::object(),
                                json::array({json::array({1})}),
                                true};
    std::size_t turn = 0;
    const json flat = right.flatten();
    for (const auto& [pointer, value] : flat.items())
        for (int i = 0; i < 3; ++i) {
            json changed = right;
            changed[json::json_pointer(pointer)] = odd[turn++ % odd.size()];
            const auto read = parse_report(changed.dump());
            if (!read) continue;
            for_each_line(death_story(*read, false),
                          [&](std::string_view line) { ASSERT_EQ(printable(line), line) << pointer; });
        }
    EXPECT_GT(turn, 300);
}

struct TheReportCommand : testing::Test {
    FakeTree tree{{"state/death-20251115T150338Z-train-101.json", death_report_json(test::dead_job())},
                  {"state/death-20251114T150338Z-old-1.json", "not this one"},
                  {"state/notes.txt", "nor this"},
                  {"empty/", ""},
                  {"cut.json", "{\"report\": \"dea"}};
    Result<std::string> show(std::optional<std::string> file, std::string directory = {}, bool as_json = false) {
        return show_report({.file = std::move(file), .directory = std::move(directory), .json = as_json}, false);
    }
};

TEST_F(TheReportCommand, ShowsTheLastDeath) {
    const auto shown = show(std::nullopt, tree.at("state"));
    ASSERT_TRUE(shown) << shown.error().message();
    EXPECT_THAT(*shown, AllOf(HasSubstr("The kernel killed python3"), HasSubstr("WHAT TO DO")));
}

TEST_F(TheReportCommand, PrintsJsonWithoutAnythingThatSteersATerminal) {
    json report = json::parse(death_report_json(test::dead_job()));
    report["deaths"][0]["comm"] = "\xc2\x9b\xe2\x80\xae\x1b";
    tree.write("evil.json", report.dump());
    const auto shown = show(tree.at("evil.json"), {}, true);
    ASSERT_TRUE(shown);
    for (const char c : *shown) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
    EXPECT_EQ(json::parse(*shown), report);
}

TEST_F(TheReportCommand, SaysClearlyThatThereIsNone) {
    EXPECT_THAT(show(std::nullopt, tree.at("empty")).error().message(), HasSubstr("no death has been written down"));
    EXPECT_THAT(show(std::nullopt, tree.at("nowhere")).error().message(),
                AllOf(HasSubstr("no death has been written down"), HasSubstr("--report-dir")));
}

TEST_F(TheReportCommand, NamesTheFileThatIsWrong) {
    EXPECT_THAT(show(tree.at("cut.json")).error().message(), AllOf(HasSubstr("cut.json"), HasSubstr("no JSON")));
    EXPECT_THAT(show(tree.at("none.json")).error().message(), HasSubstr("none.json"));
    EXPECT_THAT(show(tree.at("empty")).error().message(), HasSubstr("no plain file"));
    ASSERT_EQ(::mkfifo(tree.at("pipe").c_str(), 0600), 0);
    EXPECT_THAT(show(tree.at("pipe")).error().message(), HasSubstr("no plain file"));
    tree.write("large.json", std::string(kMostReportBytes, ' '));
    EXPECT_THAT(show(tree.at("large.json")).error().message(), HasSubstr("too large"));
}

}  // namespace
}  // namespace memscope
