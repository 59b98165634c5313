#include "analysis/targets/job_runs.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace memscope {
namespace job_runs_test {

constexpr CgroupId kJob{10};
constexpr ProcessId kShell{50, 500};
constexpr std::uint64_t kMiB = 1 << 20;

// A cgroup with a shell in it that starts jobs.
struct Runs {
    ProcessTable table{1000};
    std::shared_ptr<RunNumbers> numbers = std::make_shared<RunNumbers>();
    JobRuns runs{numbers};
    std::uint64_t now = 2000;
    pid_t next_pid = 100;

    Runs() {
        start(Role::launcher, kMiB, kShell.pid, kShell);
        tick();
    }
    ProcessId start(Role role, std::uint64_t anon = 100 * kMiB, pid_t parent = kShell.pid, ProcessId id = {}) {
        ++now;
        if (id.pid == 0) id = {next_pid++, now};
        table.apply(Forked{.time_ns = now, .id = id, .parent = parent, .target = kJob, .comm = "python3"});
        TrackedProcess& process = table.living().at(id.pid);
        process.role = {role, std::nullopt};
        process.task.memory = AddressSpace{.anon = Bytes{anon}};
        return id;
    }
    void end(const ProcessId& id, int exit_code = 9) {
        table.apply(Exited{.time_ns = ++now, .id = id, .target = kJob, .comm = "python3", .exit_code = exit_code});
    }
    void update() {
        numbers->begin_round();
        std::vector<const TrackedProcess*> all;
        for (const auto& [pid, process] : table.living()) all.push_back(&process);
        for (const TrackedProcess& process : table.ended()) all.push_back(&process);
        std::ranges::sort(all, {}, [](const TrackedProcess* process) { return process->task.id.start_ns; });
        runs.update(all);
    }
    void tick() {
        update();
        finish();
    }
    void finish() {
        numbers->end_tick();
        table.forget_ended();
    }
    RunId current() { return runs.current(); }
    RunId of(const ProcessId& id) { return runs.of(id); }
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
    job.update();
    EXPECT_GT(job.of(second), job.of(first));
    const RunId run = job.current();
    job.runs.job_ended();  // a second report of the end of the same run
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

TEST(JobRuns, AShortShellCommandBeginsNoRun) {
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

TEST(JobRuns, AnyProgramThatHoldsMemoryBeginsARun) {
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
    job.update();
    EXPECT_EQ(job.of(worker), run);
    EXPECT_GT(job.of(next), run);
}

TEST(JobRuns, TheEndOfTheLargestJobEndsTheRunWhileOtherProcessesContinue) {
    Runs job;
    const ProcessId notebook = job.start(Role::other);
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    const RunId run = job.of(first);
    job.end(first);
    const ProcessId second = job.start(Role::trainer);
    const ProcessId worker = job.start(Role::dataloader_worker, 100 * kMiB, second.pid);
    job.update();
    EXPECT_EQ(job.of(second), run) << "the notebook may be the job";
    job.runs.job_ended();
    EXPECT_GT(job.of(second), run);
    EXPECT_EQ(job.of(worker), job.of(second));
    EXPECT_EQ(job.of(first), run);
    EXPECT_EQ(job.of(notebook), run);
}

TEST(JobRuns, ASupervisorMovesToTheRunOfTheJobThatItStarts) {
    Runs job;
    const ProcessId supervisor = job.start(Role::trainer, 50 * kMiB);
    ProcessId trainer = job.start(Role::trainer, 100 * kMiB, supervisor.pid);
    job.tick();
    for (int i = 0; i < 4; ++i) {
        const RunId run = job.of(trainer);
        job.end(trainer);
        trainer = job.start(Role::trainer, 100 * kMiB, supervisor.pid);
        job.update();
        job.runs.job_ended();
        job.finish();
        EXPECT_GT(job.of(trainer), run);
        EXPECT_EQ(job.of(supervisor), job.of(trainer));
    }
}

TEST(JobRuns, ARunningProcessMayBeginARunOnlyAfterThePreviousRunEnded) {
    Runs job;
    const ProcessId trainer = job.start(Role::trainer);
    job.start(Role::other, kMiB);
    job.tick();
    EXPECT_FALSE(job.runs.may_begin());
    job.end(trainer);
    job.tick();
    EXPECT_TRUE(job.runs.may_begin());
}

TEST(JobRuns, ADeathIsOfTheRunOfItsProcess) {
    Runs job;
    const ProcessId first = job.start(Role::trainer);
    job.tick();
    job.end(first);
    job.start(Role::trainer);
    job.update();
    TargetSnapshot out{.deaths = {Death{.id = first}}};
    job.runs.name(out);
    EXPECT_EQ(out.run, job.current());
    EXPECT_EQ(out.deaths.front().run, job.runs.previous());
}

TEST(JobRuns, RunsOfTwoTargetsHaveDifferentNumbers) {
    const auto numbers = std::make_shared<RunNumbers>();
    EXPECT_NE(JobRuns(numbers).current(), JobRuns(numbers).current());
}

}  // namespace job_runs_test
}  // namespace memscope
