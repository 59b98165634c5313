#include "watch/targets/run_recorder.h"

#include <gtest/gtest.h>

namespace memscope {
namespace run_recorder_test {

constexpr CgroupId kJob{10};
constexpr CgroupId kInner{11};

struct Runs {
    ProcessTable table{1000};
    WatchedTargets targets;
    RunRecorder recorder;
    std::uint64_t now = 2000;
    pid_t next_pid = 100;

    Runs() { targets.add({.id = kJob}); }
    ProcessId start(CgroupId target = kJob) {
        ++now;
        const ProcessId id{next_pid++, now};
        table.apply(Forked{.time_ns = now, .id = id, .parent = 50, .target = target, .comm = "python3"});
        table.living().at(id.pid).role = {Role::trainer, std::nullopt};
        return id;
    }
    void end(const ProcessId& id, CgroupId target = kJob) {
        table.apply(Exited{.time_ns = ++now, .id = id, .target = target, .comm = "python3", .exit_code = 9});
    }
    void tick() {
        recorder.update(table, targets);
        recorder.end_tick(targets);
        table.forget_ended();
    }
    JobRuns& runs(CgroupId target = kJob) { return targets.find(target)->runs; }
};

TEST(RunRecorder, NestedTargetsHaveRunsOfTheirOwn) {
    Runs job;
    job.targets.add({.id = kInner, .enclosing = kJob});
    const ProcessId outer = job.start();
    const ProcessId inner = job.start(kInner);
    job.tick();
    job.end(inner, kInner);
    job.tick();
    const ProcessId again = job.start(kInner);
    job.tick();
    EXPECT_GT(job.runs(kInner).of(again), job.runs(kInner).of(inner));
    EXPECT_EQ(job.runs().of(again), job.runs().of(outer)) << "the outer one goes on";
}

TEST(RunRecorder, ARecreatedCgroupStartsANewRun) {
    Runs job;
    job.end(job.start());
    job.tick();
    const RunId run = job.runs().current();
    job.targets.drop(kJob);
    job.targets.add({.id = kJob});
    EXPECT_GT(job.runs().current(), run);
}

}  // namespace run_recorder_test
}  // namespace memscope
