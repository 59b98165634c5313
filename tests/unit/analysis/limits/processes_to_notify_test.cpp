#include "analysis/limits/processes_to_notify.h"

#include <gmock/gmock.h>

#include "support/dead_job.h"

namespace memscope {
namespace processes_to_notify_test {

using test::in_mib;
using test::member;

TargetSnapshot job(std::vector<Process> processes) {
    TargetSnapshot target;
    target.processes = std::move(processes);
    return target;
}

void grows(TargetSnapshot& target, pid_t pid, Verdict word = Verdict::leaking) {
    ScopeVerdict verdict;
    verdict.judgement.verdict = word;
    verdict.grower = Grower{.pid = pid};
    target.verdicts = {verdict};
}

pid_t chosen(const TargetSnapshot& target) {
    const Process* process = processes_to_notify(target).chosen;
    return process ? process->task.id.pid : 0;
}

const std::vector<Process> kTwoRanks = {
    member(1, 0, Role::launcher, "torchrun", "", in_mib(900)),
    member(2, 1, Role::trainer, "python3", "", in_mib(100)),
    member(3, 1, Role::trainer, "python3", "", in_mib(200)),
    member(4, 2, Role::dataloader_worker, "pt_data_worker", "", in_mib(500)),
    member(5, 4, Role::other, "gzip", "", in_mib(1)),
};

TEST(ProcessesToNotify, PrefersTheGrowingTrainerToALargerOne) {
    TargetSnapshot target = job(kTwoRanks);
    grows(target, 2);
    EXPECT_EQ(chosen(target), 2);
    EXPECT_EQ(processes_to_notify(target).grower->task.id.pid, 2);
}

TEST(ProcessesToNotify, NotifiesTheTrainerOfAGrowingWorker) {
    TargetSnapshot target = job(kTwoRanks);
    grows(target, 4);
    EXPECT_EQ(chosen(target), 2);
    EXPECT_EQ(processes_to_notify(target).grower->task.id.pid, 4);
    grows(target, 5);
    EXPECT_EQ(chosen(target), 2) << "the trainer of a process several levels below it";
}

TEST(ProcessesToNotify, TheTrainerThatHoldsMostIfNoProcessGrows) {
    TargetSnapshot target = job(kTwoRanks);
    EXPECT_EQ(chosen(target), 3);
    grows(target, 4, Verdict::stable);
    EXPECT_EQ(chosen(target), 3) << "some process always grew most, which proves nothing while the floor is flat";
    EXPECT_EQ(processes_to_notify(target).grower, nullptr);
    grows(target, 999);
    EXPECT_EQ(chosen(target), 3) << "the process that grew has exited";
}

TEST(ProcessesToNotify, AllTrainersAreKnownTheLargestFirst) {
    const TargetSnapshot target = job(kTwoRanks);
    const auto who = processes_to_notify(target);
    ASSERT_EQ(who.trainers.size(), 2);
    EXPECT_EQ(who.trainers[0]->task.id.pid, 3);
    EXPECT_EQ(who.trainers[1]->task.id.pid, 2);
}

TEST(ProcessesToNotify, WithoutATrainerPrefersTheGrowerThenTheLargestThenALauncher) {
    TargetSnapshot target =
        job({member(1, 0, Role::launcher, "bash", "", in_mib(900)), member(2, 1, Role::other, "a", "", in_mib(10)),
             member(3, 1, Role::other, "b", "", in_mib(20))});
    EXPECT_EQ(chosen(target), 3);
    grows(target, 2);
    EXPECT_EQ(chosen(target), 2);
    EXPECT_EQ(chosen(job({member(1, 0, Role::launcher, "bash", "", in_mib(900))})), 1);
    EXPECT_EQ(chosen(job({})), 0);
}

TEST(ProcessesToNotify, IgnoresInheritedPages) {
    TargetSnapshot target =
        job({member(2, 0, Role::other, "a", "", in_mib(300)), member(3, 2, Role::other, "b", "", in_mib(310))});
    EXPECT_EQ(chosen(target), 3);
    target.processes[1].inherited = in_mib(300);
    EXPECT_EQ(chosen(target), 2);
}

TEST(ProcessesToNotify, ACycleOfParentsEnds) {
    TargetSnapshot target =
        job({member(1, 2, Role::other, "a", "", in_mib(1)), member(2, 1, Role::other, "b", "", in_mib(2))});
    grows(target, 1);
    EXPECT_EQ(chosen(target), 1);
}

}  // namespace processes_to_notify_test
}  // namespace memscope
