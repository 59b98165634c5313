#include "outputs/deaths/action_facts.h"

#include <gmock/gmock.h>

#include "support/dead_job.h"
#include "support/json.h"

namespace memscope {
namespace action_facts_test {

using nlohmann::json;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

const Precursor kEta{PrecursorKind::eta, 1763219000, "it leaks, and memory runs out in 12 s: save a checkpoint now"};

Snapshot holding(TargetSnapshot target) {
    Snapshot snapshot;
    snapshot.time = test::kDied - 1;
    snapshot.targets = {std::move(target)};
    return snapshot;
}

ActionFacts facts_of(const TargetSnapshot& target, const Precursor& precursor = kEta) {
    const Snapshot snapshot = holding(target);
    return precursor_facts(snapshot, snapshot.targets[0], precursor);
}

TEST(ActionFacts, PrecursorFactsHaveTheForecastAndTheProcessToSignal) {
    TargetSnapshot target = test::nearly_full();
    target.processes[1].rank = 3;
    const ActionFacts facts = facts_of(target);
    for (const auto* entry :
         {"MEMSCOPE_EVENT=precursor", "MEMSCOPE_TARGET=train", "MEMSCOPE_PRECURSOR=eta", "MEMSCOPE_PID=101",
          "MEMSCOPE_COMM=python3", "MEMSCOPE_ROLE=trainer", "MEMSCOPE_RANK=3", "MEMSCOPE_OOM_ETA_SECONDS=12.000",
          "MEMSCOPE_LIMIT_BYTES=536870912", "MEMSCOPE_LIMIT_OWNER=own", "MEMSCOPE_UNRECLAIMABLE_BYTES=524288000",
          "MEMSCOPE_OOM_ETA_BASIS=leak", "MEMSCOPE_OOM_ETA_LIMIT_BYTES=536870912", "MEMSCOPE_OOM_ETA_LIMIT_OWNER=own"})
        EXPECT_THAT(facts.environment, Contains(entry));
    EXPECT_THAT(facts.environment, Contains("MEMSCOPE_REASON=" + kEta.reason));
    const json told = json::parse(facts.json);
    EXPECT_EQ(told["event"], "precursor");
    EXPECT_EQ(told["target"]["name"], "train");
    EXPECT_EQ(told["precursor"], "eta");
    EXPECT_EQ(told["oom_eta_seconds"], 12.0);
    EXPECT_EQ(told["oom_eta_limit_owner"], "own");
    EXPECT_EQ(told["oom_eta_limit_bytes"], 536870912);
    EXPECT_EQ(told["verdict"], "leaking");
    EXPECT_EQ(told["process"]["pid"], 101);
    EXPECT_EQ(told["process"]["rank"], 3);
    EXPECT_EQ(told["grower"], nullptr);
    EXPECT_EQ(told["trainers"], json({101}));
    EXPECT_EQ(told["memory"]["effective_limit_bytes"], 536870912);
}

TEST(ActionFacts, UnknownFactsAreLeftOut) {
    TargetSnapshot target = test::nearly_full();
    target.verdicts.clear();
    target.processes.clear();
    target.memory.effective.reset();
    const ActionFacts facts = facts_of(target);
    for (const auto* name : {"MEMSCOPE_PID=", "MEMSCOPE_RANK=", "MEMSCOPE_OOM_ETA_SECONDS=", "MEMSCOPE_LIMIT_BYTES=",
                             "MEMSCOPE_GROWER_PID="})
        EXPECT_THAT(facts.environment, Not(Contains(StartsWith(name))));
    const json told = json::parse(facts.json);
    EXPECT_EQ(told["process"], nullptr);
    EXPECT_EQ(told["oom_eta_seconds"], nullptr);
}

TEST(ActionFacts, DeathFactsHaveTheProcessTheCauseAndTheReport) {
    const ReportedDeath death{.target = {.name = "train"},
                              .deaths = {test::oom_kill_of_trainer(), test::oom_kill_of_trainer()},
                              .left_out = 3,
                              .file = "/var/lib/memscope/death-1.json"};
    const ActionFacts facts = death_facts(death);
    for (const auto* entry :
         {"MEMSCOPE_EVENT=death", "MEMSCOPE_TARGET=train", "MEMSCOPE_CAUSE=oom_kill", "MEMSCOPE_PID=101",
          "MEMSCOPE_COMM=python3", "MEMSCOPE_ROLE=trainer", "MEMSCOPE_SIGNAL=9", "MEMSCOPE_SENDER=kernel",
          "MEMSCOPE_DEATHS=5", "MEMSCOPE_REPORT=/var/lib/memscope/death-1.json"})
        EXPECT_THAT(facts.environment, Contains(entry));
    const json told = json::parse(facts.json);
    EXPECT_EQ(told["event"], "death");
    EXPECT_EQ(told["report"], death.file);
    EXPECT_EQ(told["deaths"].size(), 2);
    EXPECT_EQ(told["deaths"][0]["limit_bytes"], 512 << 20);
    EXPECT_EQ(told["deaths_left_out"], 3);
    EXPECT_THAT(death_facts({.deaths = death.deaths}).environment, Not(Contains(StartsWith("MEMSCOPE_REPORT"))));
}

TEST(ActionFacts, NameTheRecordingIfThereIsOne) {
    const ReportedDeath death{.target = {.name = "train"}, .deaths = {test::oom_kill_of_trainer()}};
    const std::string path = "/var/lib/memscope/recordings/train.memscope";
    const Snapshot snapshot = holding(test::nearly_full());
    for (const ActionFacts& facts :
         {death_facts(death, path), precursor_facts(snapshot, snapshot.targets[0], kEta, path)}) {
        EXPECT_THAT(facts.environment, Contains("MEMSCOPE_RECORDING=" + path));
        EXPECT_EQ(json::parse(facts.json)["recording"], path);
    }
    EXPECT_THAT(death_facts(death).environment, Not(Contains(StartsWith("MEMSCOPE_RECORDING"))));
    EXPECT_EQ(json::parse(death_facts(death).json)["recording"], nullptr);
}

TEST(ActionFacts, NamesThatProcessesChooseStayOneLineWithoutEscapes) {
    TargetSnapshot target = test::nearly_full();
    target.processes[1].task.comm = "\x1b[2J\n$(id)\xff";
    target.info.name = "a\nMEMSCOPE_PID=1";
    const ActionFacts facts = facts_of(target);
    for (const std::string& entry : facts.environment) {
        EXPECT_EQ(entry.find_first_of("\n\x1b"), std::string::npos) << entry;
        EXPECT_THAT(entry, StartsWith("MEMSCOPE_"));
    }
    EXPECT_THAT(facts.environment, Contains(R"(MEMSCOPE_TARGET=a\nMEMSCOPE_PID=1)"));
    EXPECT_EQ(json::parse(facts.json)["process"]["comm"], "\x1b[2J\n$(id)\uFFFD") << "in JSON as it is";
}

TEST(ActionFacts, StayBoundedForAnyEvent) {
    TargetSnapshot target = test::nearly_full();
    target.info.name = std::string(4096, '\x01');
    target.memory.effective->owner = std::string(4096, '\x01');
    target.processes[1].command = std::make_shared<const std::string>(512, '\x01');
    for (int i = 0; i < 500; ++i)
        target.processes.push_back(test::member(1000 + i, 1, Role::trainer, "python3", "", test::in_mib(1)));
    const ActionFacts facts = facts_of(target, {PrecursorKind::eta, 0, std::string(4096, '\x01')});
    EXPECT_LT(facts.json.size(), kMostFactsBytes);
    for (const std::string& entry : facts.environment) EXPECT_LT(entry.size(), kMostFactValueBytes + 64);
    EXPECT_EQ(json::parse(facts.json)["trainers"].size(), kMostTrainersListed);

    Death death = test::oom_kill_of_trainer();
    death.command = std::make_shared<const std::string>(512, '\x01');
    death.oom->victim_cgroup = std::string(4096, '\x01');
    const ReportedDeath many{.target = {.name = std::string(4096, '\x01')}, .deaths = std::vector<Death>(50, death)};
    const json told = json::parse(death_facts(many).json);
    EXPECT_LT(death_facts(many).json.size(), kMostFactsBytes);
    EXPECT_EQ(told["deaths"].size() + told["deaths_left_out"].get<std::size_t>(), 50);
}

TEST(ActionFacts, TrainersAreAListOfPids) {
    EXPECT_EQ(trainers_fact({{12, 1}, {13, 2}}), "MEMSCOPE_TRAINER_PIDS=12 13");
}

}  // namespace action_facts_test
}  // namespace memscope
