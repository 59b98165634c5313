#include "analysis/targets/job_end.h"

#include <gtest/gtest.h>

namespace memscope {
namespace job_end_test {

constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

Process process(pid_t pid, Role role, Bytes anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid)};
    process.task.memory = AddressSpace{.anon = anon};
    process.role = role;
    return process;
}

// A launcher, a trainer with 10 GiB and two workers with 6 GiB each, most of which they share with the trainer.
TargetSnapshot job() {
    TargetSnapshot target;
    target.processes = {process(10, Role::launcher, {}), process(12, Role::trainer, gib(10)),
                        process(20, Role::dataloader_worker, gib(6)), process(21, Role::dataloader_worker, gib(6))};
    return target;
}

void remove(TargetSnapshot& target, pid_t pid) {
    std::erase_if(target.processes, [&](const Process& each) { return each.task.id.pid == pid; });
}

TEST(JobEnd, AJobThatGoesOnHasNoEnd) {
    JobEnd end;
    EXPECT_FALSE(end.update(job(), gib(12), 12));
    EXPECT_FALSE(end.update(job(), gib(12), 12));
}

TEST(JobEnd, TheExitOfAllProcessesEndsTheJobOnce) {
    JobEnd end;
    end.update(job(), gib(12), std::nullopt);
    EXPECT_TRUE(end.update({}, gib(1), std::nullopt));
    EXPECT_FALSE(end.update({}, gib(1), std::nullopt));
    EXPECT_FALSE(end.update(job(), gib(12), std::nullopt)) << "the first tick is not an end";
}

TEST(JobEnd, TheExitOfTheLargestProcessEndsTheJob) {
    JobEnd end;
    end.update(job(), gib(12), std::nullopt);
    TargetSnapshot after = job();
    remove(after, 12);
    EXPECT_TRUE(end.update(after, gib(12), std::nullopt)) << "its memory may take a while to be freed";
}

TEST(JobEnd, DistinguishesProcessesOfTheSamePid) {
    JobEnd end;
    end.update(job(), gib(12), std::nullopt);
    TargetSnapshot after = job();
    after.processes[1].task.id.start_ns = 999;
    EXPECT_TRUE(end.update(after, gib(12), std::nullopt));
}

TEST(JobEnd, TheExitOfWorkersEndsTheJobOnlyIfTheyWereKilled) {
    JobEnd end;
    end.update(job(), gib(12), 20);
    TargetSnapshot after = job();
    remove(after, 20);
    remove(after, 21);
    EXPECT_FALSE(end.update(after, gib(11), 20));

    JobEnd killed;
    killed.update(job(), gib(12), std::nullopt);
    after.deaths = {Death{.id = {20, 20}}, Death{.id = {21, 21}}};
    EXPECT_TRUE(killed.update(after, gib(11), std::nullopt));
}

TEST(JobEnd, TheExitOfASmallProcessEndsTheJobOnlyIfItWasTheGrower) {
    TargetSnapshot after = job();
    remove(after, 10);
    JobEnd end;
    end.update(job(), gib(12), std::nullopt);
    EXPECT_FALSE(end.update(after, gib(12), 12));

    JobEnd grown;
    grown.update(job(), gib(12), std::nullopt);
    EXPECT_TRUE(grown.update(after, gib(12), 10));
}

}  // namespace job_end_test
}  // namespace memscope
