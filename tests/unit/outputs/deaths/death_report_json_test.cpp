#include "outputs/deaths/death_report_json.h"

#include <gmock/gmock.h>

#include "base/base64.h"
#include "outputs/deaths/death_report_bounds.h"
#include "outputs/deaths/report_store.h"
#include "record/record.h"
#include "support/dead_job.h"
#include "support/json.h"

namespace memscope {
namespace death_report_json_test {

using nlohmann::json;

TEST(DeathReportJson, HasTheDeathTheLastTickAndTheEvents) {
    const json report = json::parse(death_report_json(test::dead_job()));
    EXPECT_EQ(report["report"], "death");
    EXPECT_EQ(report["version"], 1);
    EXPECT_EQ(report["target"], "train");
    EXPECT_EQ(report["time"], test::kDied);
    const json& death = report["deaths"].at(0);
    EXPECT_EQ(death["pid"], 101);
    EXPECT_EQ(death["cause"], "oom_kill");
    EXPECT_EQ(death["constraint"], "cgroup");
    EXPECT_EQ(death["limit_owner"], "own");
    EXPECT_EQ(death["limit_bytes"], 512 << 20);
    EXPECT_EQ(death["rss_anon_bytes"], 441 << 20);
    EXPECT_EQ(death["triggered_by_pid"], 110);
    EXPECT_EQ(death["sender"], "kernel");
    EXPECT_TRUE(death["exit_status"].is_null());
    EXPECT_EQ(report["then"]["time"], test::kDied - 1);
    EXPECT_EQ(report["then"]["processes"].size(), 3);
    EXPECT_EQ(report["then"]["verdicts"].at(0)["verdict"], "leaking");
    EXPECT_EQ(report["growth"]["resident"].at(0)["python"].at(0)["line"], 41);
    EXPECT_EQ(report["series"].size(), 60);
    EXPECT_EQ(report["events"].at(0)["kind"], "warm-up");
    EXPECT_EQ(report["advice"].size(), 2);
}

TEST(DeathReportJson, EndsWithTheWholeReportAsARecord) {
    const DeathReport report = test::dead_job_on_gpus();
    const auto written = nlohmann::ordered_json::parse(death_report_json(report));
    EXPECT_EQ((--written.end()).key(), "record");
    const auto bytes = from_base64((--written.end()).value().get<std::string>());
    ASSERT_TRUE(bytes);
    const auto read = decode_record<DeathReport>(*bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(death_report_json(*read), death_report_json(report));
}

TEST(DeathReportJson, GrowthThatWasNotRecordedIsNull) {
    DeathReport report = test::dead_job();
    report.growth.reset();
    report.deaths[0].oom.reset();
    const json read = json::parse(death_report_json(report));
    EXPECT_TRUE(read["growth"].is_null());
    EXPECT_FALSE(read["deaths"][0].contains("constraint"));
}

// The worst case that watched processes can cause: every list is full, every name has its greatest length and consists
// of bytes that JSON has to escape.
TEST(DeathReportJson, IsBelowItsBoundForAnyNames) {
    DeathReport report = test::dead_job();
    const std::string worst(1000, '\x01');
    report.deaths[0].command = std::make_shared<const std::string>(worst);
    report.deaths[0].explanation = std::string(500, '\x01');
    report.deaths.resize(1000, report.deaths[0]);
    auto& target = report.then.targets[0];
    for (int i = 0; i < 1000; ++i)
        target.processes.push_back(
            test::member(2000 + i, 101, Role::other, std::string(15, '\x01').c_str(), worst.c_str(), Bytes{1}));
    for (int i = 0; i < 1000; ++i) target.roles[{Role::other, i}] = {.processes = 1};
    GrowthSite& site = report.growth->resident.sites[0];
    site.python.resize(50, {worst, worst, 1});
    site.native.resize(50, {worst, worst, 1});
    site.pids.resize(10'000, 4'000'000);
    report.growth->resident.sites.resize(20, site);
    report.growth->mapped = report.growth->resident;
    report.events.resize(5000, {1, "precursor", std::string(200, '\x01')});
    report.series.resize(301);
    keep_within_bounds(report);
    EXPECT_LT(death_report_json(report).size(), ReportStore::Limits{}.one.n);
}

}  // namespace death_report_json_test
}  // namespace memscope
