#include "outputs/deaths/death_json.h"

#include <gtest/gtest.h>

#include "example.h"
#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "support/json.h"

namespace memscope {
namespace death_json_test {

using Json = nlohmann::json;

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

Json parsed(const Death& death) {
    JsonWriter json;
    json.object([&] { write_death(json, death); });
    return Json::parse(json.text());
}

TEST(DeathJson, AnOomKillHasVictimTriggerAndLimit) {
    const Json json = parsed(oom_kill());
    EXPECT_EQ(json["time"], 1760000000.5);
    EXPECT_EQ(json["pid"], 100);
    EXPECT_EQ(json["comm"], "python");
    EXPECT_EQ(json["role"], "trainer");
    EXPECT_EQ(json["rank"], 0);
    EXPECT_EQ(json["cause"], "oom_kill");
    EXPECT_EQ(json["constraint"], "cgroup");
    EXPECT_EQ(json["limit_bytes"], 512U);
    EXPECT_EQ(json["limit_owner"], "own");
    EXPECT_EQ(json["usage_bytes"], 511U);
    EXPECT_EQ(json["rss_anon_bytes"], 400U);
    EXPECT_EQ(json["triggered_by_pid"], 200);
    EXPECT_EQ(json["triggered_by_comm"], "lo\nader\xEF\xBF\xBD");
    EXPECT_EQ(json["oom_group_kill"], false);
    EXPECT_TRUE(json["sender_pid"].is_null());
}

TEST(DeathJson, LeavesOutFieldsThatDoNotApplyToTheCause) {
    Death death{.id = {100, 5}, .cause = DeathCause::sigkill};
    death.signal = 9;
    death.sender = DeathSender::outside;
    death.sent_by = NamedProcess{300, "bash"};
    const Json json = parsed(death);
    EXPECT_EQ(json["signal"], 9);
    EXPECT_EQ(json["sender"], "outside");
    EXPECT_EQ(json["sender_pid"], 300);
    EXPECT_EQ(json["sender_comm"], "bash");
    EXPECT_TRUE(json["rss_anon_bytes"].is_null()) << "unknown, and not 0";
    for (const char* key : {"constraint", "limit_bytes", "triggered_by_pid", "mapping", "allocation"})
        EXPECT_FALSE(json.contains(key)) << key;
}

TEST(DeathJson, HasTheMappingOfASigbusAndTheCallThatFailed) {
    Death bus{.cause = DeathCause::sigbus};
    bus.mapping = FullFile{.name = "torch_1", .file_system = "tmpfs", .mount = "/dev/shm"};
    const Json with_mapping = parsed(bus);
    EXPECT_EQ(with_mapping["mapping"]["file"], "torch_1");
    EXPECT_EQ(with_mapping["mapping"]["file_system"], "tmpfs");
    EXPECT_EQ(with_mapping["mapping"]["mount"], "/dev/shm");
    bus.mapping.reset();
    EXPECT_TRUE(parsed(bus)["mapping"].is_null());
    Death refused{.cause = DeathCause::alloc_failed};
    refused.exit_status = 1;
    refused.allocation = FailedAllocation{.call = "mmap", .reason = "enomem", .size = Bytes{64}};
    const Json with_call = parsed(refused);
    EXPECT_EQ(with_call["allocation"]["call"], "mmap");
    EXPECT_EQ(with_call["allocation"]["size_bytes"], 64U);
    EXPECT_EQ(with_call["exit_status"], 1);
    EXPECT_TRUE(with_call["allocation"]["tensor_bytes"].is_null());
    refused.allocation = FailedAllocation{.tensor = Bytes{64}};
    const Json of_torch = parsed(refused);
    EXPECT_TRUE(of_torch["allocation"]["call"].is_null());
    EXPECT_TRUE(of_torch["allocation"]["reason"].is_null());
    EXPECT_EQ(of_torch["allocation"]["tensor_bytes"], 64U);
}

TEST(DeathJson, SaysHowLongAfterTheFailedCallTheDriverWasAsked) {
    Death death{.cause = DeathCause::cuda_oom};
    death.exit_status = 1;
    death.gpu = GpuShortage{.size = Bytes{64}, .free = Bytes{3}, .read_after = Seconds(-0.5)};
    EXPECT_EQ(parsed(death)["gpu"]["read_seconds_after_failure"], -0.5) << "before that call";
    death.gpu->read_after.reset();
    EXPECT_TRUE(parsed(death)["gpu"]["read_seconds_after_failure"].is_null());
}

TEST(DeathJson, ATickHasAListOfDeaths) {
    Snapshot snapshot = test::example();
    EXPECT_EQ(Json::parse(tick_json(snapshot, snapshot.targets[0]))["deaths"], Json::array());
    snapshot.targets[0].deaths = {oom_kill()};
    EXPECT_EQ(Json::parse(tick_json(snapshot, snapshot.targets[0]))["deaths"].size(), 1U);
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

TEST(DeathMetrics, AreZeroAtTheFirstScrape) {
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

}  // namespace death_json_test
}  // namespace memscope
