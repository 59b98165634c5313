#include "outputs/json/tick_json.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

#include "example.h"
#include "support/json.h"

namespace memscope {
namespace tick_json_test {

using Json = nlohmann::json;

Json tick(const Snapshot& snapshot) { return Json::parse(tick_json(snapshot, snapshot.targets.at(0))); }

TEST(TickJson, HasTheKeysOfTheContract) {
    const Json json = tick(test::example());
    EXPECT_EQ(json["time"], 1760000000.5);
    EXPECT_EQ(json["target"]["name"], "train");
    EXPECT_EQ(json["target"]["kind"], "cgroup");
    EXPECT_EQ(json["target"]["cgroup_version"], 2);
    const Json& memory = json["memory"];
    EXPECT_EQ(memory["usage_bytes"], test::gib(47).n);
    EXPECT_EQ(memory["limit_bytes"], test::gib(64).n);
    EXPECT_EQ(memory["effective_limit_bytes"], test::gib(64).n);
    EXPECT_EQ(memory["limit_owner"], "own");
    EXPECT_EQ(memory["headroom_bytes"], test::gib(23).n);
    EXPECT_EQ(memory["unreclaimable_bytes"], test::gib(41).n);
    EXPECT_EQ(memory["by_kind"].size(), 5);
    EXPECT_EQ(memory["events"]["oom_kill"], 0);
    EXPECT_EQ(memory["pressure"]["some_seconds"], 1.5);
    EXPECT_TRUE(json["gpu"].is_null());
    EXPECT_TRUE(json["deaths"].empty());
    EXPECT_EQ(json["self"]["dropped"]["tree_ring_full"], 0);
    EXPECT_EQ(json["host"]["total_bytes"], test::gib(256).n);
    EXPECT_EQ(json["shm"]["size_bytes"], test::gib(1).n);
}

TEST(TickJson, VerdictsNameTheirScope) {
    const Json json = tick(test::example());
    ASSERT_EQ(json["verdicts"].size(), 2);
    const Json& whole = json["verdicts"][0];
    EXPECT_EQ(whole["scope"], "target");
    EXPECT_TRUE(whole["role"].is_null());
    EXPECT_EQ(whole["verdict"], "leaking");
    EXPECT_EQ(whole["floor_bytes"], test::gib(40).n);
    EXPECT_EQ(whole["oom_eta_seconds"], 600);
    EXPECT_EQ(whole["grower"]["pid"], 101);
    EXPECT_EQ(whole["explanation"], "The floor has risen.");
    EXPECT_EQ(json["verdicts"][1]["scope"], "role");
    EXPECT_EQ(json["verdicts"][1]["role"], "trainer");
    EXPECT_TRUE(json["verdicts"][1]["oom_eta_seconds"].is_null());
    EXPECT_EQ(json["forecast"]["basis"], "leak");
    EXPECT_EQ(json["forecast"]["oom_eta_seconds"], 600);
    EXPECT_EQ(json["forecast"]["latest_seconds"], 900);
    EXPECT_EQ(json["forecast"]["limit_owner"], "own");
    EXPECT_EQ(json["forecast"]["limit_bytes"], test::gib(64).n);
}

TEST(TickJson, TheLimitThatIsReachedFirstNeedNotBeTheEffectiveOne) {
    Snapshot snapshot = test::example();
    Forecast& forecast = *snapshot.targets[0].verdicts[0].forecast;
    forecast.limit = EffectiveLimit{"host", test::gib(256), test::gib(100)};
    forecast.basis = Forecast::Basis::trend;
    forecast.own_share = 0.25;
    const Json json = tick(snapshot);
    EXPECT_EQ(json["memory"]["limit_owner"], "own");
    EXPECT_EQ(json["memory"]["effective_limit_bytes"], test::gib(64).n);
    EXPECT_EQ(json["memory"]["headroom_bytes"], test::gib(23).n);
    EXPECT_EQ(json["forecast"]["limit_owner"], "host");
    EXPECT_EQ(json["forecast"]["limit_bytes"], test::gib(256).n);
    EXPECT_EQ(json["forecast"]["headroom_bytes"], test::gib(100).n);
    EXPECT_EQ(json["forecast"]["own_share_ratio"], 0.25);
    EXPECT_EQ(json["forecast"]["basis"], "trend");
    EXPECT_EQ(json["verdicts"][0]["oom_eta_basis"], "trend");
}

TEST(TickJson, AVerdictHasTheCauseOfALeakWhereItIsKnown) {
    Snapshot snapshot = test::example();
    EXPECT_TRUE(tick(snapshot)["verdicts"][0].at("cause").is_null());
    snapshot.targets[0].verdicts[0].cause =
        GrowthCause{.kind = GrowthCause::Kind::unsharing, .bytes = test::gib(2), .share = 0.75};
    const Json cause = tick(snapshot)["verdicts"][0]["cause"];
    EXPECT_EQ(cause["cause"], "unsharing");
    EXPECT_EQ(cause["bytes"], test::gib(2).n);
    EXPECT_EQ(cause["share_ratio"], 0.75);
}

TEST(TickJson, AVerdictHasTheContainerThatIsSuspected) {
    Snapshot snapshot = test::example();
    EXPECT_TRUE(tick(snapshot)["verdicts"][0].at("suspect").is_null());
    snapshot.targets[0].verdicts[0].suspect = Suspect{.name = "trainer.records",
                                                      .bytes_per_second = 1000.5,
                                                      .share = 0.75,
                                                      .since = snapshot.time - 50,
                                                      .text = "Suspected leak."};
    const Json suspect = tick(snapshot)["verdicts"][0]["suspect"];
    EXPECT_EQ(suspect, Json::parse(R"({"kind": "holder", "name": "trainer.records", "bytes_per_second": 1000.5,
                                       "share": 0.75, "since_seconds": 50, "text": "Suspected leak."})"));
}

TEST(TickJson, PeakBytesAreNullIfUnknown) {
    Snapshot snapshot = test::example();
    EXPECT_EQ(tick(snapshot)["memory"]["peak_bytes"], test::gib(50).n);
    snapshot.targets[0].memory.peak.reset();
    EXPECT_TRUE(tick(snapshot)["memory"].at("peak_bytes").is_null());
}

TEST(TickJson, InheritedPagesCountAsResidentMemoryButNotAsOwnMemory) {
    Snapshot snapshot = test::example();
    TargetSnapshot& target = snapshot.targets[0];
    target.processes[2].inherited = test::gib(2);
    target.roles[{Role::dataloader_worker, 0}].inherited = test::gib(2);
    const Json json = tick(snapshot);
    EXPECT_EQ(json["processes"][2]["rss_anon_bytes"], test::gib(3).n);
    EXPECT_EQ(json["processes"][2]["own_anon_bytes"], test::gib(1).n);
    for (const Json& role : json["roles"])
        if (role["role"] == "dataloader_worker") {
            EXPECT_EQ(role["rss_anon_bytes"], test::gib(8).n);
            EXPECT_EQ(role["own_anon_bytes"], test::gib(6).n);
        }
}

TEST(TickJson, WithoutGrowthThereIsNoForecast) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].verdicts[0].forecast.reset();
    EXPECT_TRUE(tick(snapshot)["forecast"].is_null());
}

TEST(TickJson, PresentPrecursorsAreListedWithTheirReasons) {
    Snapshot snapshot = test::example();
    EXPECT_EQ(tick(snapshot)["precursors"], Json::array());
    snapshot.targets[0].precursors = {{PrecursorKind::near_limit, 1760000000.25, "58 GiB of 64 GiB"}};
    const Json standing = tick(snapshot)["precursors"];
    ASSERT_EQ(standing.size(), 1U);
    EXPECT_EQ(standing[0]["precursor"], "near_limit");
    EXPECT_EQ(standing[0]["since"], 1760000000.25);
    EXPECT_EQ(standing[0]["reason"], "58 GiB of 64 GiB");
}

TEST(TickJson, ReclaimStallsAreNullIfUnknown) {
    Snapshot snapshot = test::example();
    EXPECT_EQ(tick(snapshot)["memory"]["reclaim_stall_seconds"], 0);
    snapshot.targets[0].reclaim.reset();
    EXPECT_TRUE(tick(snapshot)["memory"]["reclaim_stall_seconds"].is_null());
    EXPECT_TRUE(tick(snapshot)["memory"]["refaulted_bytes"].is_null());
    snapshot.targets[0].reclaim = ReclaimStalls{.memcg = Seconds{1.5}, .direct = Seconds{0.25}, .stalls = 9};
    snapshot.targets[0].memory.refaulted = Bytes{4096};
    EXPECT_EQ(tick(snapshot)["memory"]["reclaim_stall_seconds"], 1.75);
    EXPECT_EQ(tick(snapshot)["memory"]["refaulted_bytes"], 4096);
}

TEST(TickJson, HasTheValuesOfEachProcess) {
    const Json process = tick(test::example())["processes"][1];
    EXPECT_EQ(process["pid"], 101);
    EXPECT_EQ(process["parent_pid"], 100);
    EXPECT_EQ(process["role"], "trainer");
    EXPECT_EQ(process["rank"], 0);
    EXPECT_EQ(process["start_time"], 1760000000.25);
    EXPECT_EQ(process["rss_anon_bytes"], test::gib(31).n);
    EXPECT_EQ(process["virtual_bytes"], test::gib(20).n);
    EXPECT_EQ(process["minor_faults"], 1000);
    EXPECT_EQ(process["threads"], 4);
}

TEST(TickJson, AbsentIsNullOrLeftOutNeverZero) {
    Snapshot snapshot = test::example();
    auto& target = snapshot.targets[0];
    target.memory.limit = Unlimited{};
    target.memory.effective.reset();
    target.memory.events.reset();
    target.memory.pressure.reset();
    target.shm.reset();
    target.processes[0].task.memory.reset();
    const Json json = tick(snapshot);
    for (const auto* key :
         {"limit_bytes", "effective_limit_bytes", "limit_owner", "headroom_bytes", "events", "pressure"})
        EXPECT_TRUE(json["memory"].at(key).is_null()) << key;
    EXPECT_FALSE(json["memory"].contains("cgroup"));
    EXPECT_FALSE(json["memory"].contains("others_bytes"));
    EXPECT_TRUE(json["shm"].is_null());
    for (const auto* key : {"rss_anon_bytes", "own_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "swap_bytes",
                            "virtual_bytes", "rank"})
        EXPECT_TRUE(json["processes"][0].at(key).is_null()) << key;
}

TEST(TickJson, NamesTheMeasuredCgroupIfItIsNotTheTarget) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].memory.measured_at = "user.slice";
    snapshot.targets[0].memory.others = Bytes{0};
    const Json memory = tick(snapshot)["memory"];
    EXPECT_EQ(memory["cgroup"], "user.slice");
    EXPECT_EQ(memory["others_bytes"], 0);
}

TEST(TickJson, IntegersAreExactBeyond2ToThe53) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].memory.usage = Bytes{18446744073709551615U};
    EXPECT_EQ(tick(snapshot)["memory"]["usage_bytes"].get<std::uint64_t>(), 18446744073709551615U);
}

TEST(TickJson, AnyBytesInANameAreStillOneLineOfValidJson) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].info.name = "a\"b\n\xff";
    snapshot.targets[0].processes[0].task.comm = "\x1b[2J\x80\"\\\r\n";
    snapshot.targets[0].processes[0].command = std::make_shared<const std::string>("nul\0byte", 8);
    const std::string text = tick_json(snapshot, snapshot.targets[0]);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const Json json = Json::parse(text);  // throws on what is not UTF-8
    EXPECT_EQ(json["target"]["name"], "a\"b\n\uFFFD");
    EXPECT_EQ(json["processes"][0]["comm"], "\x1b[2J\uFFFD\"\\\r\n");
    EXPECT_EQ(json["processes"][0]["command"], std::string("nul\0byte", 8));
}

TEST(TickJson, NotANumberIsNull) {
    Snapshot snapshot = test::example();
    snapshot.time = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(tick(snapshot)["time"].is_null());
}

TEST(TickJson, ARoleThatIsGoneKeepsItsCounters) {
    Snapshot snapshot = test::example();
    auto& target = snapshot.targets[0];
    target.roles.clear();
    const Json roles = tick(snapshot)["roles"];
    ASSERT_EQ(roles.size(), 3);
    EXPECT_EQ(roles[1]["role"], "trainer");
    EXPECT_EQ(roles[1]["rank"], 0);
    EXPECT_EQ(roles[1]["processes"], 0);
    EXPECT_EQ(roles[1]["starts"], 1);
}

TEST(TargetsJson, ListsTheNames) {
    Snapshot snapshot = test::example();
    snapshot.targets.push_back(test::training("b"));
    EXPECT_EQ(targets_json(snapshot), R"({"targets":["train","b"],"pids":[null,null]})");
}

TEST(TickJson, SharingHasItsSumsRolesAndExplanation) {
    Snapshot snapshot = test::example();
    const Json sharing = tick(snapshot)["sharing"];
    EXPECT_EQ(sharing["summed_rss_anon_bytes"], test::gib(39).n);
    EXPECT_EQ(sharing["cgroup_anon_bytes"], test::gib(40).n);
    EXPECT_EQ(sharing["unshared"].at(0), Json::parse(R"({"role": "dataloader_worker", "rank": 0, "bytes": 2147483648,
                                                          "confirmed": true, "processes": 3})"));
    EXPECT_EQ(sharing["pss"].at(0), Json::parse(R"({"role": "dataloader_worker", "rank": 0, "bytes": 6442450944,
                                                     "age_seconds": 2.5, "processes": 3})"));
    EXPECT_TRUE(sharing["explanation"].is_null());
    snapshot.targets[0].sharing.explanation = "3 workers";
    snapshot.targets[0].sharing.cgroup_anon.reset();
    EXPECT_EQ(tick(snapshot)["sharing"]["explanation"], "3 workers");
    EXPECT_TRUE(tick(snapshot)["sharing"]["cgroup_anon_bytes"].is_null());
}

}  // namespace tick_json_test
}  // namespace memscope
