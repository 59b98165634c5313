#include "outputs/death_json.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "example.h"
#include "outputs/metric_table.h"
#include "outputs/tick_json.h"

namespace memscope {
namespace {

Death oom_kill() {
    Death death{.time = 1760000000.5, .id = {100, 5}, .parent = 1, .comm = "python", .cause = DeathCause::oom_kill};
    death.role = {Role::trainer, 0};
    death.signal = 9;
    death.sender = DeathSender::kernel;
    death.rss_anon = Bytes{400};
    death.oom = OomKill{.constraint = OomConstraint::cgroup,
                        .limit_owner = "own",
                        .limit = Bytes{512},
                        .usage = Bytes{511},
                        .victim_cgroup = "train/a",
                        .trigger = NamedProcess{200, "lo\nader\xff"}};
    death.explanation = "killed";
    return death;
}

rapidjson::Document parsed(const Death& death) {
    JsonWriter json;
    json.object([&] { write_death(json, death); });
    rapidjson::Document document;
    document.Parse(json.text().c_str());
    EXPECT_FALSE(document.HasParseError()) << json.text();
    return document;
}

TEST(DeathJson, OfAnOomKillHasVictimTriggerAndLimit) {
    const auto json = parsed(oom_kill());
    EXPECT_EQ(json["time"].GetDouble(), 1760000000.5);
    EXPECT_EQ(json["pid"].GetInt(), 100);
    EXPECT_STREQ(json["comm"].GetString(), "python");
    EXPECT_STREQ(json["role"].GetString(), "trainer");
    EXPECT_EQ(json["rank"].GetInt(), 0);
    EXPECT_STREQ(json["cause"].GetString(), "oom_kill");
    EXPECT_STREQ(json["constraint"].GetString(), "cgroup");
    EXPECT_EQ(json["limit_bytes"].GetUint64(), 512U);
    EXPECT_STREQ(json["limit_owner"].GetString(), "own");
    EXPECT_EQ(json["usage_bytes"].GetUint64(), 511U);
    EXPECT_EQ(json["rss_anon_bytes"].GetUint64(), 400U);
    EXPECT_EQ(json["triggered_by_pid"].GetInt(), 200);
    EXPECT_STREQ(json["triggered_by_comm"].GetString(), "lo\nader\xEF\xBF\xBD");
    EXPECT_FALSE(json["oom_group_kill"].GetBool());
    EXPECT_TRUE(json["sender_pid"].IsNull());
}

TEST(DeathJson, LeavesOutWhatDoesNotBelongToTheCause) {
    Death death{.id = {100, 5}, .cause = DeathCause::sigkill};
    death.signal = 9;
    death.sender = DeathSender::outside;
    death.sent_by = NamedProcess{300, "bash"};
    const auto json = parsed(death);
    EXPECT_EQ(json["signal"].GetInt(), 9);
    EXPECT_STREQ(json["sender"].GetString(), "outside");
    EXPECT_EQ(json["sender_pid"].GetInt(), 300);
    EXPECT_STREQ(json["sender_comm"].GetString(), "bash");
    EXPECT_TRUE(json["rss_anon_bytes"].IsNull()) << "unknown, and not 0";
    for (const char* key : {"constraint", "limit_bytes", "triggered_by_pid", "mapping", "allocation"})
        EXPECT_FALSE(json.HasMember(key)) << key;
}

TEST(DeathJson, HasTheMappingOfASigbusAndTheCallThatFailed) {
    Death bus{.cause = DeathCause::sigbus};
    bus.mapping = FullFile{.name = "torch_1", .file_system = "tmpfs", .mount = "/dev/shm"};
    const auto with_mapping = parsed(bus);
    EXPECT_STREQ(with_mapping["mapping"]["file"].GetString(), "torch_1");
    EXPECT_STREQ(with_mapping["mapping"]["file_system"].GetString(), "tmpfs");
    EXPECT_STREQ(with_mapping["mapping"]["mount"].GetString(), "/dev/shm");
    bus.mapping.reset();
    EXPECT_TRUE(parsed(bus)["mapping"].IsNull());
    Death refused{.cause = DeathCause::alloc_failed};
    refused.exit_status = 1;
    refused.allocation = FailedAllocation{.call = "mmap", .reason = "enomem", .size = Bytes{64}};
    const auto with_call = parsed(refused);
    EXPECT_STREQ(with_call["allocation"]["call"].GetString(), "mmap");
    EXPECT_EQ(with_call["allocation"]["size_bytes"].GetUint64(), 64U);
    EXPECT_EQ(with_call["exit_status"].GetInt(), 1);
}

TEST(DeathJson, StandsInTheTickAsAListThatIsMostlyEmpty) {
    Snapshot snapshot = test::example();
    rapidjson::Document document;
    document.Parse(tick_json(snapshot, snapshot.targets[0]).c_str());
    EXPECT_TRUE(document["deaths"].IsArray() && document["deaths"].Empty());
    snapshot.targets[0].deaths = {oom_kill()};
    document.Parse(tick_json(snapshot, snapshot.targets[0]).c_str());
    EXPECT_EQ(document["deaths"].Size(), 1U);
}

double sample(const Snapshot& snapshot, std::string_view name, const std::vector<std::string>& labels) {
    for (const Metric& metric : death_metrics()) {
        if (metric.name != name) continue;
        Samples samples;
        metric.collect(snapshot, samples);
        for (const auto& each : samples.all())
            if (each.labels == labels) return each.value;
    }
    return -1;
}

TEST(DeathMetrics, StandAtZeroFromTheFirstScrape) {
    const Snapshot snapshot = test::example();
    for (const OomConstraint constraint : kOomConstraints)
        EXPECT_EQ(sample(snapshot, "memscope_oom_kills_total", {"train", std::string(name_of(constraint))}), 0);
    for (const DeathSender sender : kDeathSenders)
        for (const char* cause : {"sigkill", "sigbus", "signal"})
            EXPECT_EQ(sample(snapshot, "memscope_deaths_total", {"train", cause, std::string(name_of(sender))}), 0);
    EXPECT_EQ(sample(snapshot, "memscope_deaths_total", {"train", "oom_kill", "kernel"}), 0);
    EXPECT_EQ(sample(snapshot, "memscope_deaths_total", {"train", "oom_kill", "outside"}), -1) << "cannot be";
    EXPECT_EQ(sample(snapshot, "memscope_deaths_total", {"train", "alloc_failed", "none"}), 0);
    EXPECT_EQ(sample(snapshot, "memscope_last_death_timestamp_seconds", {"train", "oom_kill"}), -1) << "never yet";
}

TEST(DeathMetrics, CountByCauseSenderAndConstraint) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].death_tally.add(oom_kill());
    EXPECT_EQ(sample(snapshot, "memscope_oom_kills_total", {"train", "cgroup"}), 1);
    EXPECT_EQ(sample(snapshot, "memscope_deaths_total", {"train", "oom_kill", "kernel"}), 1);
    EXPECT_EQ(sample(snapshot, "memscope_last_death_timestamp_seconds", {"train", "oom_kill"}), 1760000000.5);
}

}  // namespace
}  // namespace memscope
