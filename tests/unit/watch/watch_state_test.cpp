// Readings as plain values go in, a Snapshot comes out: no kernel, no files, no helper processes.
#include "watch/watch_state.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace watch_state_test {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr CgroupId kOuter{1};
constexpr CgroupId kInner{2};
constexpr ProcessId kTrainer{100, 5};
constexpr ProcessId kWorker{101, 6};
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr std::uint64_t kSecond = 1'000'000'000;

// A trainer in the target "job/inner", which lies inside the target "job" and has a limit of 4 GiB.
struct ObservedJob {
    WatchState state{{.linger = Seconds{60}, .watching_since_ns = 1}};
    SharingReadings sharing{};
    std::uint64_t now_ns = 1000 * kSecond;
    HostMemory host{.total = Bytes{64 * kGiB}, .available = Bytes{50 * kGiB}};
    std::uint64_t trainer = 2 * kGiB;       // anonymous memory
    std::optional<std::uint64_t> worker{};  // the same, of a DataLoader worker; none: there is no worker
    bool trainer_lives = true;
    std::string limit_owner = "job/inner";
    ReclaimStalls inner_stalls{};
    DeathLookups lookups{};

    ObservedJob() {
        state.targets().add({.id = kOuter, .info = {.name = "job"}});
        state.targets().add({.id = kInner, .info = {.name = "job/inner"}, .enclosing = kOuter});
        state.apply(Forked{.time_ns = now_ns, .id = kTrainer, .parent = 1, .target = kInner, .comm = "python3"});
        state.apply(Execed{
            .time_ns = now_ns, .id = kTrainer, .target = kInner, .comm = "python3", .argv = {"python3", "train.py"}});
    }
    Now now() const { return {.unix_seconds = 1.7e9 + static_cast<double>(now_ns) * 1e-9, .boot_ns = now_ns}; }

    ScannedTask scanned(const ProcessId& id, pid_t parent, const char* comm, std::uint64_t anon) const {
        return {.task = {.time_ns = now_ns,
                         .id = id,
                         .parent = parent,
                         .target = kInner,
                         .comm = comm,
                         .memory = AddressSpace{.anon = Bytes{anon}},
                         .threads = 1}};
    }
    // The stages before the readings of targets.
    ReadingsByTarget processes() {
        std::vector<ScannedTask> tasks;
        if (trainer_lives) tasks.push_back(scanned(kTrainer, 1, "python3", trainer));
        if (worker) tasks.push_back(scanned(kWorker, kTrainer.pid, "pt_data_worker", *worker));
        if (worker) tasks.back().task.forked_without_exec = true;
        state.reconcile({.began_ns = now_ns, .tasks = tasks});
        state.settle(now(), host, lookups);
        state.follow_runs();
        return state.count_processes(now());
    }
    // The stages after the readings of targets.
    Snapshot judged(ReadingsByTarget readings, bool finished = false) {
        MachineReadings machine{.now = now(), .host = host, .counts_stalls = true};
        machine.sharing = {.readings = &sharing, .compared_scan_ns = now_ns, .compared_ns = now_ns, .scan_ns = now_ns};
        return state.judge(std::move(machine), std::move(readings), finished);
    }
    MemoryState memory() const {
        const Bytes held{trainer + worker.value_or(0)};
        MemoryState memory{.usage = held, .by_kind = {.anon = held}, .unreclaimable = held};
        memory.candidates = {{limit_owner, {4 * kGiB}, memory.unreclaimable}};
        memory.effective = nearest_limit(memory.candidates);
        return memory;
    }
    Snapshot tick() {
        ReadingsByTarget readings = processes();
        for (auto& [id, target] : readings) target.memory = memory();
        if (readings.contains(kInner)) readings.at(kInner).stalls = inner_stalls;
        return judged(std::move(readings));
    }
    Snapshot run(double seconds, std::uint64_t growth_per_second) {
        Snapshot latest;
        for (double passed = 0; passed < seconds; passed += 5) {
            now_ns += 5 * kSecond;
            (worker ? *worker : trainer) += 5 * growth_per_second;
            latest = tick();
        }
        return latest;
    }
    void kill_trainer(const OomMark& mark = kLimitOfInner) {
        kill(kTrainer, mark);
        trainer_lives = false;
        trainer = 0;
    }
    void kill_worker() {
        kill(kWorker, kLimitOfInner);
        worker.reset();
    }

  private:
    inline static const OomMark kLimitOfInner{.time_ns = 1, .owner = {.id = kInner}, .limit = Bytes{4 * kGiB}};

    void kill(const ProcessId& id, const OomMark& mark) {
        now_ns += kSecond;
        state.apply(Exited{.time_ns = now_ns, .id = id, .target = kInner, .comm = "python3", .exit_code = SIGKILL});
        DeathEvidence evidence{
            .time_ns = now_ns, .id = id, .target = kInner, .comm = "python3", .exit_code = SIGKILL, .oom = mark};
        evidence.kill = SentSignal{.time_ns = now_ns, .number = SIGKILL, .by_kernel = true};
        state.take(evidence);
    }
};

TEST(WatchState, AnHourOfReadingsGivesTheVerdictAndThePrecursorsOfEveryTarget) {
    ObservedJob job;
    const Snapshot last = job.run(3600, kMiB / 2);
    ASSERT_THAT(last.targets, SizeIs(2));
    for (const TargetSnapshot& target : last.targets) {
        ASSERT_NE(target.verdict(), nullptr);
        EXPECT_EQ(target.verdict()->judgement.verdict, Verdict::leaking) << target.info.name;
        ASSERT_TRUE(target.verdict()->forecast);
        EXPECT_THAT(target.precursors, Contains(Field(&Precursor::kind, PrecursorKind::eta)));
        EXPECT_THAT(target.precursors, Contains(Field(&Precursor::kind, PrecursorKind::near_limit)));
        EXPECT_EQ(target.counters.at({Role::trainer}).starts, 1U);
        EXPECT_EQ(target.roles.at({Role::trainer}).anon, Bytes{job.trainer});
    }
}

TEST(WatchState, ADeathCountsForAllEnclosingTargetsAndEndsTheForecastAtOnce) {
    ObservedJob job;
    job.run(3600, kMiB / 2);
    EXPECT_FALSE(job.state.has_news());
    job.kill_trainer();
    EXPECT_TRUE(job.state.has_news());
    const Snapshot last = job.tick();
    EXPECT_FALSE(job.state.has_news());
    ASSERT_THAT(last.targets, SizeIs(2));
    for (const TargetSnapshot& target : last.targets) {
        ASSERT_THAT(target.deaths, SizeIs(1));
        EXPECT_EQ(target.deaths[0].cause, DeathCause::oom_kill);
        EXPECT_EQ(target.deaths[0].role.role, Role::trainer);
        EXPECT_NE(target.deaths[0].run, kNoRun);
        EXPECT_EQ(target.death_tally.of(DeathCause::oom_kill), 1U);
        EXPECT_FALSE(target.verdict()->forecast) << target.info.name;
        EXPECT_EQ(target.counters.at({Role::trainer}).exits, 1U);
    }
    for (const TargetSnapshot& target : job.tick().targets)
        EXPECT_THAT(target.deaths, SizeIs(0)) << "each is shown once";
}

// A worker that exits does not end a job, because the next epoch has another one; a worker that is killed does. So the
// deaths of a tick are handed over before the target is judged.
TEST(WatchState, ThePrecursorsOfAWorkerEndInTheTickThatShowsItsDeath) {
    ObservedJob job;
    job.trainer = kGiB;
    job.worker = kGiB;
    const Snapshot before = job.run(3600, kMiB / 2);
    ASSERT_EQ(before.targets.at(1).roles.at({Role::dataloader_worker}).processes, 1U);
    ASSERT_THAT(before.targets.at(1).precursors, Contains(Field(&Precursor::kind, PrecursorKind::eta)));
    job.kill_worker();
    const Snapshot last = job.tick();
    ASSERT_THAT(last.targets.at(1).deaths, SizeIs(1));
    EXPECT_THAT(last.targets.at(1).precursors, SizeIs(0));
}

// When the next tick reads the memory of the host, the memory of the killed process is free again.
TEST(WatchState, ADeathIsExplainedByTheHostMemoryOfTheTickBefore) {
    ObservedJob job;
    job.host.available = Bytes{kGiB};
    job.tick();
    job.kill_trainer({.time_ns = 1});  // no cgroup around it was full
    job.host.available = Bytes{60 * kGiB};
    const Snapshot last = job.tick();
    ASSERT_THAT(last.targets.at(0).deaths, SizeIs(1));
    ASSERT_TRUE(last.targets[0].deaths[0].oom);
    EXPECT_EQ(last.targets[0].deaths[0].oom->constraint, OomConstraint::host);
    EXPECT_EQ(last.targets[0].deaths[0].oom->usage, Bytes{63 * kGiB});
}

TEST(WatchState, ATargetThatEndsIsShownWithItsLastCountersAndDeaths) {
    ObservedJob job;
    job.run(60, 0);
    job.kill_trainer();
    job.state.prepare_end(job.now(), job.lookups);
    const auto final = job.state.final_counters({kInner});
    ASSERT_EQ(final.size(), 1U);
    job.state.end_target(kInner, final.at(kInner), job.now());
    EXPECT_EQ(job.state.targets().find(kInner), nullptr);
    const Snapshot last = job.tick();
    ASSERT_THAT(last.targets, SizeIs(2));
    const TargetSnapshot& outer = last.targets[0];
    const TargetSnapshot& inner = last.targets[1];
    EXPECT_EQ(inner.info.name, "job/inner");
    EXPECT_FALSE(inner.up);
    EXPECT_EQ(inner.memory.usage, Bytes{2 * kGiB}) << "at its last tick";
    EXPECT_THAT(inner.deaths, SizeIs(1));
    EXPECT_EQ(inner.counters.at({Role::trainer}).exits, 1U);
    EXPECT_TRUE(outer.up);
    EXPECT_THAT(outer.deaths, SizeIs(1));
    EXPECT_EQ(outer.counters.at({Role::trainer}).exits, 1U) << "counted once";
}

TEST(WatchState, ALivingProcessOfATargetThatEndsIsInTheTargetAroundIt) {
    ObservedJob job;
    job.tick();
    job.state.prepare_end(job.now(), job.lookups);
    job.state.end_target(kInner, job.state.final_counters({kInner}).at(kInner), job.now());
    EXPECT_EQ(job.state.processes().living().at(kTrainer.pid).task.target, kOuter);
    const ReadingsByTarget readings = job.state.count_processes(job.now());
    EXPECT_THAT(readings.at(kOuter).processes, SizeIs(1));
    EXPECT_EQ(readings.size(), 1U);
}

TEST(WatchState, StallsOfAnInnerTargetStayInTheOuterWhenItEnds) {
    ObservedJob job;
    job.inner_stalls = {.memcg = Seconds{2}, .stalls = 3};
    const Snapshot before = job.tick();
    EXPECT_EQ(before.targets.at(0).reclaim->stalls, 3U);
    EXPECT_EQ(before.targets.at(1).reclaim->stalls, 3U);
    job.state.count_stalls(*job.state.targets().find(kInner), {.memcg = Seconds{5}, .stalls = 4});
    job.state.end_target(kInner, {}, job.now());
    const Snapshot after = job.tick();
    ASSERT_THAT(after.targets, SizeIs(1));
    EXPECT_EQ(after.targets[0].reclaim->memcg, Seconds{5});
    EXPECT_EQ(after.targets[0].reclaim->stalls, 4U);
}

TEST(WatchState, ATargetThatCouldNotBeReadIsNotShownAndLosesNothing) {
    ObservedJob job;
    job.tick();
    job.kill_trainer();
    ReadingsByTarget readings = job.processes();
    readings.at(kOuter).memory = job.memory();
    readings.at(kInner).stalls = ReclaimStalls{.stalls = 2};
    const Snapshot without = job.judged(std::move(readings));
    ASSERT_THAT(without.targets, SizeIs(1));
    EXPECT_EQ(without.targets[0].info.name, "job");
    EXPECT_THAT(without.unread, testing::ElementsAre("job/inner"));
    EXPECT_EQ(without.targets[0].reclaim->stalls, 2U);
    job.inner_stalls = {.stalls = 2};
    const Snapshot with = job.tick();
    ASSERT_THAT(with.targets, SizeIs(2));
    EXPECT_THAT(with.targets[1].deaths, SizeIs(1)) << "handed over when the target is shown again";
    EXPECT_EQ(with.targets[1].reclaim->stalls, 2U);
}

TEST(WatchState, ProcessesThatEndedWhileTicksFailedAreCountedAndForgottenAndTheirDeathsAreShownLater) {
    ObservedJob job;
    job.tick();
    job.kill_trainer();
    ASSERT_THAT(job.state.processes().ended(), SizeIs(1));
    job.state.prepare_end(job.now(), job.lookups);
    (void)job.state.count_processes(job.now());
    EXPECT_THAT(job.state.processes().ended(), SizeIs(0));
    const Snapshot next = job.tick();
    ASSERT_THAT(next.targets, SizeIs(2));
    EXPECT_THAT(next.targets[1].deaths, SizeIs(1));
    EXPECT_EQ(next.targets[1].counters.at({Role::trainer}).exits, 1U);
}

TEST(WatchState, TheLastTickShowsTheDeathsOfATreeWhoseCgroupIsGone) {
    ObservedJob job;
    job.run(60, 0);
    job.kill_trainer();
    const Snapshot last = job.judged(job.processes(), true);  // the memory of neither target could be read
    ASSERT_THAT(last.targets, SizeIs(2));
    for (const TargetSnapshot& target : last.targets) {
        EXPECT_FALSE(target.up) << target.info.name;
        EXPECT_THAT(target.deaths, SizeIs(1)) << target.info.name;
        EXPECT_EQ(target.memory.usage, Bytes{2 * kGiB}) << "at its last tick";
        EXPECT_EQ(target.counters.at({Role::trainer}).exits, 1U);
    }
}

HeapCensus census(const ProcessId& process, const Now& now, std::uint64_t anon, std::uint64_t malloc_free) {
    HeapCensus taken{.process = process, .time = now.unix_seconds, .anon = Bytes{anon}};
    taken.part(HeapPart::malloc_free) = Bytes{malloc_free};
    taken.part(HeapPart::malloc_live) = Bytes{anon - malloc_free};
    taken.allocator = {.name = AllocatorName::glibc, .arenas = 64, .trimmable = Bytes{malloc_free / 10 * 9}};
    return taken;
}

// The verdict stays `leaking`, because free memory that malloc does not return also brings the job to its limit.
TEST(WatchState, GrowthThatIsFreeInsideMallocIsNotCalledALeakOfTheJobsObjects) {
    ObservedJob job;
    job.trainer = kGiB;
    job.run(1200, 0);
    job.state.take(census(kTrainer, job.now(), job.trainer, kGiB / 8));
    job.run(2400, kMiB / 2);
    const Snapshot before = job.tick();
    ASSERT_EQ(before.targets.at(1).verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(before.targets[1].verdict()->cause) << "not known yet";
    EXPECT_THAT(before.targets[1].verdict()->explanation, HasSubstr("find the objects that the job keeps"));

    job.state.take(census(kTrainer, job.now(), job.trainer, job.trainer - kGiB + kGiB / 8));
    const Snapshot after = job.tick();
    for (const TargetSnapshot& target : after.targets) {
        ASSERT_THAT(target.heap, SizeIs(1)) << target.info.name << ": both targets are around the process";
        EXPECT_EQ(target.heap[0].role.role, Role::trainer);
        ASSERT_TRUE(target.heap[0].earlier);
        const ScopeVerdict& verdict = *target.verdict();
        EXPECT_EQ(verdict.judgement.verdict, Verdict::leaking);
        ASSERT_TRUE(verdict.cause);
        EXPECT_EQ(verdict.cause->kind, GrowthCause::Kind::malloc_free);
        EXPECT_THAT(verdict.explanation, HasSubstr("are free inside malloc, where 64 arenas keep freed blocks"));
        EXPECT_THAT(verdict.explanation, Not(HasSubstr("find the objects that the job keeps")));
    }
}

TEST(WatchState, GrowthOfLiveObjectsKeepsTheAdviceToFindThem) {
    ObservedJob job;
    job.trainer = kGiB;
    job.run(1200, 0);
    job.state.take(census(kTrainer, job.now(), job.trainer, kGiB / 8));
    job.run(2400, kMiB / 2);
    job.state.take(census(kTrainer, job.now(), job.trainer, kGiB / 8));
    const Snapshot after = job.tick();
    EXPECT_FALSE(after.targets.at(1).verdict()->cause);
    EXPECT_THAT(after.targets[1].verdict()->explanation, HasSubstr("find the objects that the job keeps"));
}

TEST(WatchState, APrecursorSaysHowMuchMemoryIsFreeInsideMalloc) {
    ObservedJob job;
    job.trainer = 4 * kGiB - 300 * kMiB;
    job.run(60, 0);
    job.state.take(census(kTrainer, job.now(), job.trainer, 2 * kGiB));
    const Snapshot last = job.tick();
    ASSERT_THAT(last.targets.at(1).precursors, SizeIs(1));
    EXPECT_EQ(last.targets[1].precursors[0].kind, PrecursorKind::near_limit);
    EXPECT_THAT(last.targets[1].precursors[0].reason, HasSubstr("2.0 GiB of 3.7 GiB are free inside malloc"));
}

std::string eta_reason_of(const TargetSnapshot& target) {
    for (const Precursor& each : target.precursors)
        if (each.kind == PrecursorKind::eta) return each.reason;
    return "there is no eta";
}

TEST(WatchState, EtaSaysThatAJobGrowsAndNotThatItLeaksIfMallocKeepsTheMemoryFree) {
    ObservedJob job;
    job.limit_owner = "own";
    job.trainer = 2600 * kMiB;
    job.run(1200, 0);
    job.state.take(census(kTrainer, job.now(), job.trainer, 100 * kMiB));
    EXPECT_THAT(eta_reason_of(job.run(2400, kMiB / 2).targets.at(1)), StartsWith("it leaks, and at this rate"));
    job.state.take(census(kTrainer, job.now(), job.trainer, 1300 * kMiB));
    EXPECT_THAT(eta_reason_of(job.tick().targets.at(1)),
                AllOf(StartsWith("it grows, and at this rate its own limit of 4.0 GiB is full in"),
                      HasSubstr("; 1.3 GiB of 3.7 GiB are free inside malloc"),
                      HasSubstr("This is not a leak of your objects")));
}

// Less than a quarter of the memory is free, so the reason does not describe it, but it is most of the growth.
TEST(WatchState, EtaSaysThatAJobGrowsIfMostOfItsGrowthIsFreeInsideMalloc) {
    ObservedJob job;
    job.limit_owner = "own";
    job.trainer = 3277 * kMiB;
    job.run(1200, 0);
    job.state.take(census(kTrainer, job.now(), job.trainer, 10 * kMiB));
    EXPECT_THAT(eta_reason_of(job.run(1200, kMiB / 2).targets.at(1)), StartsWith("it leaks, and at this rate"));
    job.state.take(census(kTrainer, job.now(), job.trainer, 600 * kMiB));
    const Snapshot after = job.tick();
    ASSERT_TRUE(after.targets.at(1).verdict()->cause);
    EXPECT_THAT(eta_reason_of(after.targets[1]),
                AllOf(StartsWith("it grows, and at this rate its own limit"), Not(HasSubstr("free inside malloc"))));
}

TEST(WatchState, RequestsAnUrgentCensusAtALeakOrAPrecursor) {
    ObservedJob job;
    job.run(1200, 0);
    job.state.take_census_wishes();
    bool urgent = false;
    for (int i = 0; i < 480 && !urgent; ++i) {
        const Snapshot now = job.run(5, kMiB / 2);
        for (const CensusWish& wish : job.state.take_census_wishes()) {
            urgent = urgent || wish.urgent;
            EXPECT_EQ(wish.process, kTrainer);
        }
        EXPECT_EQ(urgent, now.targets.at(1).verdict()->judgement.verdict == Verdict::leaking ||
                              !now.targets[1].precursors.empty());
    }
    EXPECT_TRUE(urgent);
}

TEST(WatchState, ACensusIsGoneWithItsProcess) {
    ObservedJob job;
    job.tick();
    job.state.take(census(kTrainer, job.now(), kGiB, kGiB / 2));
    EXPECT_THAT(job.tick().targets.at(1).heap, SizeIs(1));
    job.kill_trainer();
    EXPECT_THAT(job.tick().targets.at(1).heap, SizeIs(0));
    job.state.take(census(kTrainer, job.now(), kGiB, kGiB / 2));  // this census arrives after the end of its process
    EXPECT_THAT(job.tick().targets.at(1).heap, SizeIs(0));
}

}  // namespace watch_state_test
}  // namespace memscope
