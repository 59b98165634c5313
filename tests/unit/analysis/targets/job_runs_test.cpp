#include "analysis/targets/job_runs.h"

#include <gtest/gtest.h>

namespace memscope {
namespace {

constexpr CgroupId kJob{10};
constexpr CgroupId kInner{11};
constexpr ProcessId kShell{50, 500};
constexpr std::uint64_t kMiB = 1 << 20;

// A cgroup with a shell in it that starts jobs.
struct Runs {
    ProcessTable table{1000};
    Nesting nesting;
    JobRuns runs;
    std::uint64_t now = 2000;
    pid_t next_pid = 100;

    Runs() {
        nesting.add(kJob, kNoCgroup);
        start(Role::launcher, kMiB, kShell.pid, kShell);
        tick();
    }
    ProcessId start(Role role, std::uint64_t anon = 100 * kMiB, pid_t parent = kShell.pid, ProcessId id = {},
                    CgroupId target = kJob) {
        ++now;
        if (id.pid == 0) id = {next_pid++, now};
        table.apply(Forked{.time_ns = now, .id = id, .parent = parent, .target = target, .comm = "python3"});
        TrackedProcess& process = table.living().at(id.pid);
        process.role = {role, std::nullopt};
        process.task.memory = AddressSpace{.anon = Bytes{anon}};
        return id;
    }
    void end(const ProcessId& id, int exit_code = 9) {
        table.apply(Exited{.time_ns = ++now, .id = id, .target = kJob, .comm = "python3", .exit_code = exit_code});
    }
    void look() { runs.look_at(table, nesting); }
    void tick() {
        look();
        finish();
    }
    void finish() {
        runs.end_tick({});
        table.forget_ended();
    }
    RunId current() { return runs.current(kJob); }
    RunId of(const ProcessId& id) { return runs.of(kJob, id); }
};

TEST(JobRuns, AJobThatIsStartedAgainIsAnotherRun) {
    Runs job;
    const RunId before = job.current();
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    const RunId run = job.of(first);
    EXPECT_EQ(run, before) << "no run had ended";
    job.end(first);
    job.tick();
    EXPECT_EQ(job.current(), run) << "the ended run is current until another begins";
    const ProcessId second = job.start(Role::trainer);
    job.tick();
    EXPECT_GT(job.current(), run);
    EXPECT_EQ(job.of(second), job.current());
    EXPECT_EQ(job.of(first), run) << "a death may be decided late";
}

TEST(JobRuns, AJobThatIsRestartedWithinATickIsAnotherRun) {
    Runs job;
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    job.end(first);
    const ProcessId second = job.start(Role::trainer);
    job.look();
    EXPECT_GT(job.of(second), job.of(first));
    const RunId run = job.current();
    job.runs.job_ended(kJob);  // reports the same end again
    EXPECT_EQ(job.current(), run);
}

TEST(JobRuns, EveryJobThatCameAndDiedBetweenTwoTicksIsARun) {
    Runs job;
    RunId before = kNoRun;
    for (int i = 0; i < 5; ++i) {
        const ProcessId id = job.start(Role::other, 0);
        job.table.living().at(id.pid).task.memory.reset();  // no scan has seen it yet
        job.end(id);
        job.tick();
        EXPECT_GT(job.of(id), before);
        before = job.of(id);
    }
}

TEST(JobRuns, ACommandOfTheShellIsNone) {
    Runs job;
    const ProcessId trainer = job.start(Role::trainer);
    job.tick();
    job.end(trainer);
    job.tick();
    const RunId run = job.current();
    const ProcessId sleep = job.start(Role::other, kMiB / 4);
    job.tick();
    job.end(sleep, 0);
    job.tick();
    EXPECT_EQ(job.current(), run) << "the results of the ended run can still be read";
}

TEST(JobRuns, AProgramOfAnyKindBeginsOneOnceItHoldsMemory) {
    Runs job;
    job.end(job.start(Role::trainer));
    job.tick();
    const RunId run = job.current();
    const ProcessId program = job.start(Role::other, kMiB);
    job.tick();
    EXPECT_EQ(job.current(), run);
    job.table.living().at(program.pid).task.memory->anon = Bytes{100 * kMiB};  // no process started or ended
    job.tick();
    EXPECT_GT(job.current(), run);
    EXPECT_EQ(job.of(program), job.current());
}

TEST(JobRuns, NewWorkersBelongToTheRunOfTheirTrainer) {
    Runs job;
    const ProcessId trainer = job.start(Role::trainer);
    job.tick();
    const RunId run = job.current();
    for (int epoch = 0; epoch < 3; ++epoch) {
        const ProcessId worker = job.start(Role::dataloader_worker, 100 * kMiB, trainer.pid);
        job.tick();
        EXPECT_EQ(job.of(worker), run);
        job.end(worker, 0);
        job.tick();
    }
    EXPECT_EQ(job.current(), run);
}

TEST(JobRuns, WorkersThatOutliveTheirTrainerDoNotCountForTheNext) {
    Runs job;
    const ProcessId trainer = job.start(Role::trainer);
    const ProcessId worker = job.start(Role::dataloader_worker, 100 * kMiB, trainer.pid);
    job.tick();
    const RunId run = job.of(trainer);
    job.end(trainer);
    const ProcessId next = job.start(Role::trainer);
    job.tick();
    job.end(worker);
    job.look();
    EXPECT_EQ(job.of(worker), run);
    EXPECT_GT(job.of(next), run);
}

TEST(JobRuns, TheJobThatHeldMostOfTheMemoryEndsThemBesideOthers) {
    Runs job;
    const ProcessId notebook = job.start(Role::other);
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    const RunId run = job.of(first);
    job.end(first);
    const ProcessId second = job.start(Role::trainer);
    const ProcessId worker = job.start(Role::dataloader_worker, 100 * kMiB, second.pid);
    job.look();
    EXPECT_EQ(job.of(second), run) << "the notebook may be the job";
    job.runs.job_ended(kJob);
    EXPECT_GT(job.of(second), run);
    EXPECT_EQ(job.of(worker), job.of(second));
    EXPECT_EQ(job.of(first), run);
    EXPECT_EQ(job.of(notebook), run);
}

TEST(JobRuns, ASupervisorGoesWithTheJobThatItStarts) {
    Runs job;
    const ProcessId supervisor = job.start(Role::trainer, 50 * kMiB);
    ProcessId trainer = job.start(Role::trainer, 100 * kMiB, supervisor.pid);
    job.tick();
    for (int i = 0; i < 4; ++i) {
        const RunId run = job.of(trainer);
        job.end(trainer);
        trainer = job.start(Role::trainer, 100 * kMiB, supervisor.pid);
        job.look();
        job.runs.job_ended(kJob);
        job.finish();
        EXPECT_GT(job.of(trainer), run);
        EXPECT_EQ(job.of(supervisor), job.of(trainer));
    }
}

TEST(JobRuns, OfTargetsThatAreNestedAreTheirOwn) {
    Runs job;
    job.nesting.add(kInner, kJob);
    const ProcessId outer = job.start(Role::trainer);
    const ProcessId inner = job.start(Role::trainer, 100 * kMiB, kShell.pid, {}, kInner);
    job.tick();
    job.end(inner);
    job.tick();
    const ProcessId again = job.start(Role::trainer, 100 * kMiB, kShell.pid, {}, kInner);
    job.tick();
    EXPECT_GT(job.runs.of(kInner, again), job.runs.of(kInner, inner));
    EXPECT_EQ(job.of(again), job.of(outer)) << "the run of the outer target continues";
    EXPECT_EQ(job.runs.around(job.table.living().at(again.pid), job.nesting).size(), 2U);
}

TEST(JobRuns, OnlyTheLastTwoAreKept) {
    Runs job;
    for (int i = 0; i < 100; ++i) {
        job.end(job.start(Role::trainer));
        job.tick();
    }
    EXPECT_EQ(job.runs.kept().size(), 2U);
    job.runs.forget(kJob);
    EXPECT_TRUE(job.runs.kept().empty());
}

TEST(JobRuns, ThatARemovedTargetShowsAreKeptUntilItIsNotShownAnyMore) {
    Runs job;
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    job.end(first);
    job.look();
    TargetSnapshot last{.deaths = {Death{.id = first}}};
    job.runs.name(kJob, last);
    job.runs.forget(kJob);
    EXPECT_EQ(last.run, last.deaths.front().run);
    EXPECT_EQ(job.runs.kept(), std::set<RunId>{last.run});
    job.runs.end_tick({.targets = {last}});
    EXPECT_EQ(job.runs.kept(), std::set<RunId>{last.run}) << "the last snapshot still shows it";
    job.runs.end_tick({});
    EXPECT_TRUE(job.runs.kept().empty());
}

TEST(JobRuns, ACgroupThatWasMadeAgainHasNoPast) {
    Runs job;
    job.end(job.start(Role::trainer));
    job.tick();
    const RunId run = job.current();
    job.runs.forget(kJob);
    EXPECT_GT(job.current(), run);
}

}  // namespace
}  // namespace memscope
