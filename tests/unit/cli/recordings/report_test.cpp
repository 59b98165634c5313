#include "cli/recordings/report.h"

#include <cmath>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/text.h"
#include "cli/recordings/report_file.h"
#include "outputs/deaths/death_report_json.h"
#include "outputs/deaths/death_text.h"
#include "record/container.h"
#include "record/record.h"
#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/json.h"

namespace memscope {
namespace report_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// The file of a report with this record, so that tests can have records that the program itself would never write.
std::string file_of(const DeathReport& report, const std::string& record) {
    json file = json::parse(death_report_json(report));
    file["record"] = record;
    return file.dump();
}

TEST(ReadReport, ReadsBackAllShownValues) {
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
    const auto read = parse_report(death_report_json(report));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(death_story(*read, false), death_story(report, false));
    EXPECT_THAT(death_story(*read, false), HasSubstr("target 60 GiB (18 GiB cached or fragmented), others 10 GiB"));
    // The JSON of the report that was read equals that of the original to the last byte, so nothing was lost.
    EXPECT_EQ(death_report_json(*read), death_report_json(report));
}

// To show a killed job as it was, the record must have the values that the JSON of a tick leaves out.
TEST(ReadReport, HasTheValuesThatTheJsonOfATickOmits) {
    DeathReport report = test::dead_job();
    TargetSnapshot& target = report.then.targets[0];
    target.precursors.at(0).of_host = true;
    target.processes[1].task.forked_without_exec = true;
    target.verdicts.at(0).lines = GrowingLines{.repeated = 0.5, .most = "train.py:7", .share = 0.25, .times = 3};
    report.growth->resident.unattributed = {{"exited", 5}};
    const auto read = parse_report(death_report_json(report));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(read->target().precursors.at(0).of_host);
    EXPECT_TRUE(read->target().processes[1].task.forked_without_exec);
    EXPECT_EQ(read->target().verdicts.at(0).lines->times, 3);
    EXPECT_EQ(read->growth->resident.unattributed.at(0).bytes, 5);
}

TEST(ReadReport, EveryTruncationIsAnErrorOfOneLine) {
    const std::string whole = death_report_json(test::dead_job());
    for (std::size_t length = 0; length < whole.size(); length += 97) {
        const auto read = parse_report(std::string_view(whole).substr(0, length));
        ASSERT_FALSE(read) << length;
        EXPECT_EQ(printable(read.error().message()), read.error().message());
    }
}

TEST(ReadReport, OtherFilesAreRefused) {
    EXPECT_THAT(parse_report("").error().message(), HasSubstr("is not JSON"));
    EXPECT_THAT(parse_report("[]").error().message(), HasSubstr("is not a death report"));
    EXPECT_THAT(parse_report("{\"report\": \"death\", \"version\": 2}").error().message(),
                HasSubstr("another version"));
    EXPECT_THAT(parse_report(std::string(1'000'000, '[')).error().message(), HasSubstr("nested too deeply"));
    EXPECT_FALSE(parse_report("{\"report\": \"death\", \"version\": 1e999}"));
    EXPECT_FALSE(parse_report("{\"report\": \"death\", \"version\": 1, \"a\": \"\xff\"}"));
}

TEST(ReadReport, AMissingOrDamagedRecordIsReported) {
    const DeathReport report = test::dead_job();
    const auto message = [&](const std::string& file) {
        const auto read = parse_report(file);
        return read ? std::string("read") : read.error().message();
    };
    const std::string good = encode_record(report);
    json without = json::parse(death_report_json(report));
    without.erase("record");
    EXPECT_THAT(message(without.dump()), HasSubstr("has no record"));
    without["record"] = json::array({1});
    EXPECT_THAT(message(without.dump()), HasSubstr("a record that is not a string"));
    EXPECT_THAT(message(file_of(report, "not base64!")), HasSubstr("not base64"));
    EXPECT_THAT(message(file_of(report, "")), HasSubstr("is not a record of memscope"));
    EXPECT_THAT(message(file_of(report, base64(good.substr(0, good.size() / 2)))), HasSubstr("is cut short"));
    std::string flipped = good;
    flipped[flipped.size() / 2] ^= 1;
    EXPECT_THAT(message(file_of(report, base64(flipped))), HasSubstr("has a record that is damaged"));
    EXPECT_THAT(message(file_of(report, base64(record::sealed(record::Kind::death_report, "", 99)))),
                HasSubstr("is a record of a later version"));
    EXPECT_THAT(message(file_of(report, base64(encode_record(*report.growth)))),
                HasSubstr("is a record of growth, not of a death report"));
}

TEST(ReadReport, RefusesAForgedRecordThatCannotBeShown) {
    const DeathReport good = test::dead_job();
    const auto message = [&](const DeathReport& made_up) {
        const auto read = parse_report(file_of(good, base64(encode_record(made_up))));
        return read ? std::string("read") : read.error().message();
    };
    EXPECT_THAT(message({}), HasSubstr("contains no death"));
    DeathReport bare = good;
    bare.then.targets.clear();
    EXPECT_THAT(message(bare), HasSubstr("has no target"));
    DeathReport crowded = good;
    crowded.then.targets[0].processes.resize(1001);
    EXPECT_THAT(message(crowded), HasSubstr("more processes"));
    DeathReport endless = good;
    endless.events.resize(10'001);
    EXPECT_THAT(message(endless), HasSubstr("longer lists"));
    EXPECT_EQ(message(good), "read");
}

// Numbers and texts that no watcher would write are shown without harm.
TEST(ReadReport, ShowsAForgedRecordWithAnyValues) {
    DeathReport report = test::dead_job_on_gpus();
    TargetSnapshot& target = report.then.targets[0];
    const std::string odd = "\x1b[2J\n\xff\u202e";
    for (const double number : {std::nan(""), 1e300, -1e300}) {
        report.deaths[0].time = report.then.time = report.series[0].time = report.events[0].time = number;
        report.deaths[0].explanation = report.events[0].text = report.events[0].kind = report.advice[0] = odd;
        target.info.name = target.info.kind = target.sharing.explanation = target.memory.effective->owner = odd;
        target.precursors[0].reason = target.verdicts[0].explanation = report.then.gpus[1].trouble = odd;
        target.precursors[0].since = number;
        target.verdicts[0].forecast->eta = Seconds(number);
        target.verdicts[0].forecast->limit->owner = odd;
        target.processes[0].task.comm = odd;
        target.processes[0].command = std::make_shared<const std::string>(odd);
        target.processes[0].task.parent = 110;  // a ring
        const auto read = parse_report(file_of(test::dead_job(), base64(encode_record(report))));
        ASSERT_TRUE(read) << read.error().message();
        for_each_line(death_story(*read, false), [&](std::string_view line) { ASSERT_EQ(printable(line), line); });
        for (const std::string& line : death_block(*read, "file")) ASSERT_EQ(printable(line), line);
    }
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

TEST_F(TheReportCommand, PrintsJsonWithoutTerminalControlCharacters) {
    json report = json::parse(death_report_json(test::dead_job()));
    report["deaths"][0]["comm"] = "\xc2\x9b\xe2\x80\xae\x1b\x7f";
    tree.write("evil.json", report.dump());
    const auto shown = show(tree.at("evil.json"), {}, true);
    ASSERT_TRUE(shown);
    for (const char c : *shown) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
    // The record is for memscope itself: a script that compares two reports should not see it.
    report.erase("record");
    EXPECT_EQ(json::parse(*shown), report);
}

TEST_F(TheReportCommand, SaysThatThereIsNoReport) {
    EXPECT_THAT(show(std::nullopt, tree.at("empty")).error().message(), HasSubstr("there is no death report in "));
    EXPECT_THAT(show(std::nullopt, tree.at("nowhere")).error().message(),
                AllOf(HasSubstr("there is no death report: the directory"), HasSubstr("--report-dir")));
}

TEST_F(TheReportCommand, NamesTheFileThatIsWrong) {
    EXPECT_THAT(show(tree.at("cut.json")).error().message(), AllOf(HasSubstr("cut.json"), HasSubstr("is not JSON")));
    EXPECT_THAT(show(tree.at("none.json")).error().message(), HasSubstr("none.json"));
    EXPECT_THAT(show(tree.at("empty")).error().message(), HasSubstr("not a regular file"));
    ASSERT_EQ(::mkfifo(tree.at("pipe").c_str(), 0600), 0);
    EXPECT_THAT(show(tree.at("pipe")).error().message(), HasSubstr("not a regular file"));
    tree.write("large.json", std::string(kMostReportBytes, ' '));
    EXPECT_THAT(show(tree.at("large.json")).error().message(), HasSubstr("too large"));
}

}  // namespace report_test
}  // namespace memscope
