#include "watch/deaths/death_recorder.h"

#include <csignal>
#include <gtest/gtest.h>

#include "watch/targets/ended_targets.h"

namespace memscope {
namespace death_recorder_test {

constexpr CgroupId kOuter{1};
constexpr CgroupId kInner{2};
constexpr std::uint64_t kSecond = 1'000'000'000;

// A root with pid 10 and a worker with pid 11, in a target inside another; nothing of the machine is read.
class Recorded : public testing::Test {
  protected:
    Recorded() {
        targets_.add({.id = kOuter, .info = {.name = "outer"}});
        targets_.add({.id = kInner, .info = {.name = "outer/inner"}, .enclosing = kOuter});
        processes_.apply(Forked{.time_ns = 5, .id = kRoot, .parent = 1, .target = kInner, .comm = "bash"});
        processes_.apply(Forked{.time_ns = 6, .id = kWorker, .parent = 10, .target = kInner, .comm = "python"});
    }

    static DeathEvidence killed(ProcessId id, std::uint64_t at_ns, NamedProcess by, CgroupId its_target = kNoCgroup) {
        DeathEvidence evidence{.time_ns = at_ns, .id = id, .target = kInner, .comm = "python", .exit_code = SIGKILL};
        evidence.kill =
            SentSignal{.time_ns = at_ns, .number = SIGKILL, .sender = std::move(by), .sender_target = its_target};
        return evidence;
    }
    void exit(ProcessId id, std::uint64_t at_ns) {
        const Exited event{.time_ns = at_ns, .id = id, .target = kInner, .comm = "python"};
        recorder_.exited(event, processes_);
        processes_.apply(event);
    }
    TargetSnapshot settled(CgroupId target) {
        recorder_.settle({.processes = processes_,
                          .targets = targets_,
                          .host = host_,
                          .now = {.unix_seconds = 1760000000, .boot_ns = 500 * kSecond},
                          .lookups = lookups_});
        TargetSnapshot out;
        targets_.find(target)->deaths.hand_over(out);
        return out;
    }

    static constexpr ProcessId kRoot{10, 5};
    static constexpr ProcessId kWorker{11, 6};
    DeathLookups lookups_{};
    HostMemory host_{};
    ProcessTable processes_{1};
    WatchedTargets targets_;
    DeathRecorder recorder_{};
};

TEST_F(Recorded, ADeathCountsForEveryEnclosingTarget) {
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    EXPECT_TRUE(recorder_.has_news());
    const TargetSnapshot inner = settled(kInner);
    EXPECT_TRUE(recorder_.has_news()) << "deaths are also decided between ticks, when a cgroup is removed";
    recorder_.sweep(processes_);  // by the tick that shows the death
    EXPECT_FALSE(recorder_.has_news());
    ASSERT_EQ(inner.deaths.size(), 1U);
    EXPECT_DOUBLE_EQ(inner.deaths[0].time, 1760000000 - 1);
    EXPECT_EQ(inner.death_tally.of(DeathCause::sigkill, DeathSender::outside), 1U);
    EXPECT_EQ(inner.last_death->id, kWorker);
    EXPECT_EQ(settled(kOuter).deaths.size(), 1U);
    EXPECT_TRUE(settled(kInner).deaths.empty()) << "each is handed over once";
    EXPECT_EQ(settled(kInner).death_tally.of(DeathCause::sigkill), 1U);
}

TEST_F(Recorded, AProcessThatDiesBeforeItsFirstTickHasItsCommandLine) {
    processes_.apply(
        Execed{.time_ns = 7, .id = kWorker, .target = kInner, .comm = "python", .argv = {"python", "a.py"}});
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    exit(kWorker, 499 * kSecond);
    const TargetSnapshot inner = settled(kInner);
    ASSERT_EQ(inner.deaths.size(), 1U);
    ASSERT_TRUE(inner.deaths[0].command);
    EXPECT_EQ(*inner.deaths[0].command, "python a.py");
}

// Up to Linux 6.15, the last two threads of a process may both report that they are the last thread.
TEST_F(Recorded, TwoReportsOfOneExitAreOneDeath) {
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    EXPECT_EQ(settled(kInner).deaths.size(), 1U);
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    EXPECT_TRUE(settled(kInner).deaths.empty());
    recorder_.take(killed({11, 7}, 499 * kSecond, {300, "bash"}));
    EXPECT_EQ(settled(kInner).deaths.size(), 1U) << "another process of that number";
}

TEST_F(Recorded, ASenderInTheOuterTargetIsOutsideTheInner) {
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}, kOuter));
    EXPECT_EQ(name_of(settled(kInner).deaths.at(0).sender), "outside");
    EXPECT_EQ(name_of(settled(kOuter).deaths.at(0).sender), "tree");
}

TEST_F(Recorded, AKillAfterTheRootBeganToEndIsTeardown) {
    exit(kRoot, 498 * kSecond);
    recorder_.take(killed(kWorker, 499 * kSecond, {1, "systemd"}));
    const TargetSnapshot target = settled(kInner);
    EXPECT_EQ(name_of(target.deaths.at(0).sender), "tree");
    EXPECT_FALSE(target.last_death) << "no news";
}

TEST_F(Recorded, AKillTogetherWithTheRootIsTeardownExceptForTheRoot) {
    recorder_.take(killed(kRoot, 499 * kSecond, {1, "systemd"}));
    recorder_.take(killed(kWorker, 499 * kSecond + 1, {1, "systemd"}));
    const TargetSnapshot target = settled(kInner);
    EXPECT_TRUE(target.deaths.at(0).news);
    EXPECT_FALSE(target.deaths.at(1).news);
    EXPECT_EQ(target.last_death->id, kRoot);
}

TEST_F(Recorded, AKillLongAfterTheExitOfTheRootIsNotTeardown) {
    exit(kRoot, 100 * kSecond);
    recorder_.sweep(processes_);
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    EXPECT_TRUE(settled(kInner).deaths.at(0).news);
}

TEST_F(Recorded, UsesTheLastKnownRoleAndMemoryIfTheExitWasLost) {
    processes_.living().at(11).role = {Role::trainer, 3};
    processes_.living().at(11).task.memory = AddressSpace{.anon = Bytes{77}};
    recorder_.take(killed(kWorker, 499 * kSecond, {300, "bash"}));
    const Death death = settled(kInner).deaths.at(0);
    EXPECT_EQ(death.role, (RoleKey{Role::trainer, 3}));
    EXPECT_EQ(death.rss_anon, Bytes{77});
    recorder_.take(killed({99, 1}, 499 * kSecond, {300, "bash"}));
    EXPECT_FALSE(settled(kInner).deaths.at(0).rss_anon) << "of one that nobody saw alive nothing is made up";
}

TEST(EndedTargets, AreShownOnceWithTheirDeathsAndLingerWithoutThem) {
    EndedTargets ended(Seconds{60});
    TargetSnapshot shown{.info = {.name = "job"}};
    shown.memory.usage = Bytes{5};
    TargetSnapshot last{.info = {.name = "job"}};
    last.deaths.emplace_back();
    last.death_tally.add(last.deaths.front());
    ended.end(shown, last, {.boot_ns = 100 * kSecond});
    Snapshot first;
    ended.show(first, {.boot_ns = 100 * kSecond}, false);
    ASSERT_EQ(first.targets.size(), 1U);
    EXPECT_FALSE(first.targets[0].up);
    EXPECT_EQ(first.targets[0].memory.usage, Bytes{5});
    EXPECT_TRUE(first.targets[0].processes.empty());
    EXPECT_EQ(first.targets[0].deaths.size(), 1U);
    Snapshot second;
    ended.show(second, {.boot_ns = 159 * kSecond}, false);
    ASSERT_EQ(second.targets.size(), 1U);
    EXPECT_TRUE(second.targets[0].deaths.empty());
    Snapshot third;
    ended.show(third, {.boot_ns = 160 * kSecond}, false);
    EXPECT_TRUE(third.targets.empty());
}

TEST(EndedTargets, DropTargetsThatAreBackAndThoseWithoutDeaths) {
    EndedTargets ended(Seconds{60});
    TargetSnapshot last{.info = {.name = "job"}};
    ended.end({}, last, {});
    Snapshot none;
    ended.show(none, {}, false);
    EXPECT_TRUE(none.targets.empty());
    last.deaths.emplace_back();
    ended.end({}, last, {});
    ended.show(none, {}, false);
    Snapshot back;
    back.targets.push_back({.info = {.name = "job"}});
    ended.show(back, {}, false);
    EXPECT_EQ(back.targets.size(), 1U);
}

// A death is reported when it happens. Often the cgroup is removed after the report.
TEST(EndedTargets, LingerAfterADeathThatWasReportedBefore) {
    EndedTargets ended(Seconds{60});
    TargetSnapshot last{.info = {.name = "job"}};
    last.death_tally.add({.cause = DeathCause::oom_kill, .oom = OomKill{.constraint = OomConstraint::cgroup}});
    ended.end({}, last, {});
    for (const std::uint64_t second : {0U, 59U}) {
        Snapshot snapshot;
        ended.show(snapshot, {.boot_ns = second * kSecond}, false);
        ASSERT_EQ(snapshot.targets.size(), 1U);
        EXPECT_EQ(snapshot.targets[0].death_tally.of(DeathCause::oom_kill), 1U);
    }
}

TEST(EndedTargets, AreShownWithoutProcessesWhenNoOtherTargetIsLeft) {
    EndedTargets ended(Seconds{60});
    TargetSnapshot shown{.info = {.name = "job"}};
    shown.roles[{Role::trainer}].processes = 1;
    TargetSnapshot last{.info = {.name = "job"}};
    last.counters[{Role::trainer}].exits = 1;
    ended.end(shown, last, {});
    Snapshot snapshot;
    ended.show(snapshot, {}, true);
    ASSERT_EQ(snapshot.targets.size(), 1U);
    EXPECT_FALSE(snapshot.targets[0].up);
    EXPECT_TRUE(snapshot.targets[0].roles.empty());
    EXPECT_EQ(snapshot.targets[0].counters[{Role::trainer}].exits, 1U);
}

TEST_F(Recorded, ExplainsAFailedCudaAllocationByTheNvmlReadingOfThatTime) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    const GpuUuid uuid{1};
    std::uint64_t said_ns = 498 * kSecond + 10'000'000;
    lookups_.gpus = [&](std::uint64_t failed_ns, std::uint64_t ended_ns) {
        EXPECT_EQ(failed_ns, 498 * kSecond);
        EXPECT_EQ(ended_ns, 499 * kSecond);
        GpuDevice gpu{.id = gpu_id(uuid), .index = 2};
        gpu.used = Bytes{139 * kGiB};
        gpu.free = Bytes{3 << 20};
        gpu.reserved = Bytes{615 << 20};
        gpu.total = Bytes{140 * kGiB};
        gpu.knows_holders = true;
        gpu.holders = {{11, Bytes{139 * kGiB}}};
        return NvmlPoller::Sample{.devices = {gpu}, .began_ns = said_ns, .taken_ns = said_ns};
    };
    DeathEvidence evidence{
        .time_ns = 499 * kSecond, .id = kWorker, .target = kInner, .comm = "python", .exit_code = 1 << 8};
    evidence.cuda_failure =
        CudaFailure{.time_ns = 498 * kSecond, .size = Bytes{2 * kGiB}, .device = uuid, .reserved = Bytes{8 * kGiB}};
    recorder_.take(evidence);
    const Death then = settled(kInner).deaths.at(0);
    ASSERT_TRUE(then.gpu);
    EXPECT_EQ(then.gpu->free, Bytes{3 << 20}) << "what the driver keeps for itself is not free";
    EXPECT_EQ(then.gpu->reserved, Bytes{8 * kGiB});
    EXPECT_NEAR(then.gpu->read_after.value_or(Seconds{-1}).count(), 0.01, 1e-6);
    EXPECT_NE(then.explanation.find("3.0 MiB was free of 140 GiB, it had reserved 8.0 GiB itself"), std::string::npos)
        << then.explanation;
    said_ns = 497 * kSecond + kSecond / 2;
    evidence.id = {12, 7};
    recorder_.take(evidence);
    const Death before = settled(kInner).deaths.at(0);
    EXPECT_NE(before.explanation.find("3.0 MiB was free of 140 GiB 0.5 s before that call"), std::string::npos)
        << before.explanation;
}

}  // namespace death_recorder_test
}  // namespace memscope
