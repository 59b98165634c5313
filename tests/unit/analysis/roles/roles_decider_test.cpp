// What RoleDecider remembers, and what makes it decide again.
#include <chrono>
#include <gtest/gtest.h>

#include "unit/analysis/roles/tree.h"

namespace memscope {
namespace roles_decider_test {

const std::vector<std::string> kTrain{"python", "train.py"};

TEST(RoleDecider, WithoutProcessesThereAreNoRoles) {
    RoleDecider decider;
    EXPECT_TRUE(decider.decide({}).empty());
}

TEST(RoleDecider, UserRulesComeFirst) {
    RoleDecider decider({{.role = Role::helper, .program = "train.py"}});
    const Tree tree{{.pid = 1, .comm = "python", .argv = kTrain}};
    EXPECT_EQ(tree.decided_by(decider).at(1).role, Role::helper);
}

TEST(RoleDecider, ADecisionStandsUntilExec) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "x", .argv = {"python"}}};
    EXPECT_EQ(tree.decided_by(decider).at(1).role, Role::trainer);
    tree.at(1).argv = {"notpyt"};  // argv has the same length, so nothing is decided again
    EXPECT_EQ(tree.decided_by(decider).at(1).role, Role::trainer);
    tree.at(1).exec_count = 1;
    EXPECT_EQ(tree.decided_by(decider).at(1).role, Role::other);
}

TEST(RoleDecider, AForkOfATrainerThatIsSeenOnAGpuIsATrainer) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "python", .argv = kTrain},
              {.pid = 2, .parent = 1, .comm = "python", .forked = true},
              {.pid = 3, .parent = 1, .comm = "pt_data_worker", .forked = true, .gpu_context = true}};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::dataloader_worker);
    tree.at(2).gpu_context = true;
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::trainer);
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::dataloader_worker) << "its name says so";
}

TEST(RoleDecider, ASpawnedProcessOnAGpuIsATrainer) {
    RoleDecider decider;
    const std::vector<std::string> spawned{"python", "-c",
                                           "from multiprocessing.spawn import spawn_main; spawn_main()"};
    const Tree tree{{.pid = 1, .comm = "python", .argv = kTrain},
                    {.pid = 2, .parent = 1, .comm = "python", .argv = spawned},
                    {.pid = 3, .parent = 1, .comm = "python", .argv = spawned, .gpu_context = true}};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::dataloader_worker);
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::trainer);
}

TEST(RoleDecider, ATrainerWithoutARankHasTheIndexOfItsGpu) {
    RoleDecider decider;
    const Tree tree{
        {.pid = 1, .comm = "python", .argv = kTrain},
        {.pid = 2, .parent = 1, .comm = "python", .argv = kTrain, .gpu_context = true, .gpu_index = 3},
        {.pid = 3, .parent = 2, .comm = "pt_data_worker", .forked = true},
        {.pid = 4, .parent = 1, .comm = "python", .argv = kTrain, .rank = 7, .gpu_context = true, .gpu_index = 2},
        {.pid = 5, .comm = "nvidia-smi", .argv = {"nvidia-smi"}, .gpu_context = true, .gpu_index = 1}};
    const auto roles = tree.decided_by(decider);
    EXPECT_EQ(roles.at(1).rank, std::nullopt);
    EXPECT_EQ(roles.at(2).rank, 3);
    EXPECT_EQ(roles.at(3).rank, 3) << "its worker";
    EXPECT_EQ(roles.at(4).rank, 7) << "its own rank takes precedence";
    EXPECT_EQ(roles.at(5).rank, std::nullopt) << "it is no trainer";
}

TEST(RoleDecider, AProgramOnAGpuIsATrainerUnlessItHasAnotherKnownRole) {
    RoleDecider decider;
    const Tree tree{{.pid = 1, .comm = "llm", .argv = {"llm"}, .gpu_context = true},
                    {.pid = 2, .comm = "llm", .argv = {"llm"}},
                    {.pid = 3, .comm = "nvidia-smi", .argv = {"nvidia-smi"}, .gpu_context = true}};
    const auto roles = tree.decided_by(decider);
    EXPECT_EQ(roles.at(1).role, Role::trainer);
    EXPECT_EQ(roles.at(2).role, Role::other);
    EXPECT_EQ(roles.at(3).role, Role::helper);
}

TEST(RoleDecider, ANewNameOrANewlyReadArgvChangesTheDecision) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "python", .argv = kTrain}, {.pid = 2, .parent = 1, .comm = "x"}};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::other);
    tree.at(2).argv = {"nvidia-smi"};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::helper);
    tree.at(2).comm = "pt_data_worker";
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::dataloader_worker);
}

TEST(RoleDecider, AChildFollowsItsParentsNewRole) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "sh", .argv = {"sh", "x"}},
              {.pid = 2, .parent = 1, .comm = "python", .argv = kTrain, .forked = true}};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::trainer);
    tree.at(1) = {.pid = 1, .comm = "python", .argv = kTrain, .exec_count = 1};
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::dataloader_worker);
}

TEST(RoleDecider, AnOrphanedWorkerStaysAWorkerOfItsRank) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "tini", .argv = {"tini"}},
              {.pid = 2, .parent = 1, .comm = "python", .argv = kTrain, .rank = 5},
              {.pid = 3, .parent = 2, .comm = "python", .argv = kTrain, .forked = true}};
    const RoleKey worker{Role::dataloader_worker, 5};
    EXPECT_EQ(tree.decided_by(decider).at(3), worker);
    tree.remove(2);
    EXPECT_EQ(tree.decided_by(decider).at(3), worker) << "before it is adopted";
    tree.at(3).parent = 1;
    EXPECT_EQ(tree.decided_by(decider).at(3), worker) << "after it is adopted";
}

TEST(RoleDecider, AWorkerThatGaveItsMemoryUpIsStillAWorker) {
    RoleDecider decider;
    Tree tree{{.pid = 2, .comm = "python", .argv = kTrain},
              {.pid = 3, .parent = 2, .comm = "python", .argv = kTrain, .forked = true}};
    tree.decided_by(decider);
    tree.at(3).own_memory = false;
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::dataloader_worker);
}

TEST(RoleDecider, AVforkChildIsDecidedAgainAfterExec) {
    RoleDecider decider;
    Tree tree{{.pid = 2, .comm = "python", .argv = kTrain},
              {.pid = 3, .parent = 2, .comm = "python", .argv = kTrain, .forked = true, .own_memory = false}};
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::other);
    tree.at(3) = {.pid = 3, .parent = 2, .comm = "wandb-core", .argv = {"/x/wandb-core"}, .exec_count = 1};
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::helper);
}

TEST(RoleDecider, AForkIsAWorkerUntilItsMemoryIsKnown) {
    RoleDecider decider;
    Tree tree{{.pid = 2, .comm = "python", .argv = kTrain},
              {.pid = 3, .parent = 2, .comm = "python", .argv = kTrain, .forked = true, .own_memory = std::nullopt}};
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::dataloader_worker);
    tree.at(3).own_memory = false;
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::other);
}

TEST(RoleDecider, MemoryFromBeforeExecDoesNotCount) {
    RoleDecider decider;
    Tree tree{{.pid = 2, .comm = "python", .argv = kTrain},
              {.pid = 3, .parent = 2, .comm = "python", .argv = kTrain, .forked = true}};
    tree.decided_by(decider);
    tree.at(3).exec_count = 1;
    tree.at(3).own_memory = false;
    EXPECT_EQ(tree.decided_by(decider).at(3).role, Role::other);
}

TEST(RoleDecider, AForkWithoutArgvInheritsTheArgvOfItsParent) {
    const Tree tree{{.pid = 2, .comm = "x", .argv = {"/usr/bin/bash"}},
                    {.pid = 3, .parent = 2, .comm = "x", .forked = true}};
    EXPECT_EQ(tree.decided().at(3).role, Role::launcher);
    RoleDecider decider;
    const RoleDecider::Subject no_argv{.id = {9, 9}, .comm = "bash", .argv = nullptr};
    EXPECT_EQ(decider.decide(std::span(&no_argv, 1)).front().role, Role::launcher);
}

TEST(RoleDecider, CyclesAndMissingParentsAreTolerated) {
    Tree tree{{.pid = 1, .parent = 3, .comm = "python", .argv = kTrain, .start_ns = 7},
              {.pid = 2, .parent = 1, .comm = "bash", .argv = {"bash"}, .start_ns = 7},
              {.pid = 3, .parent = 2, .comm = "uv", .argv = {"uv"}, .start_ns = 7},
              {.pid = 4, .parent = 4, .comm = "python", .argv = kTrain, .forked = true},
              {.pid = 5, .parent = 999, .comm = "python", .argv = kTrain, .forked = true},
              {.pid = -1, .parent = -1, .comm = "", .argv = {""}}};
    const auto roles = tree.decided();
    EXPECT_EQ(roles.at(1).role, Role::trainer);
    EXPECT_EQ(roles.at(2).role, Role::launcher);
    EXPECT_EQ(roles.at(3).role, Role::launcher);
    EXPECT_EQ(roles.at(4).role, Role::trainer);
    EXPECT_EQ(roles.at(5).role, Role::trainer);
    EXPECT_EQ(roles.at(-1).role, Role::other);
}

TEST(RoleDecider, AReusedPidIsNotTheParentOfOlderProcesses) {
    RoleDecider decider;
    const std::vector<std::string> shell{"bash"};
    const RoleDecider::Subject subjects[] = {
        {.id = {50, 100}, .comm = "python", .argv = &kTrain},  // ended
        {.id = {50, 300}, .comm = "bash", .argv = &shell},     // its successor
        {.id = {60, 200},
         .parent = 50,
         .comm = "python",
         .argv = &kTrain,
         .forked_without_exec = true},  // of the first
        {.id = {70, 400},
         .parent = 50,
         .comm = "python",
         .argv = &kTrain,
         .forked_without_exec = true},  // of the second
    };
    const auto keys = decider.decide(subjects);
    EXPECT_EQ(keys[0].role, Role::trainer);
    EXPECT_EQ(keys[1].role, Role::launcher);
    EXPECT_EQ(keys[2].role, Role::dataloader_worker);
    EXPECT_EQ(keys[3].role, Role::trainer);
}

TEST(RoleDecider, EndedProcessesAreForgotten) {
    RoleDecider decider;
    Tree tree{{.pid = 1, .comm = "uv", .argv = {"uv"}}, {.pid = 2, .parent = 1, .comm = "x", .argv = {"python"}}};
    tree.decided_by(decider);
    EXPECT_EQ(decider.remembered(), 2U);
    tree.remove(2);
    tree.decided_by(decider);
    EXPECT_EQ(decider.remembered(), 1U);
    tree.add({.pid = 2, .parent = 1, .comm = "x", .argv = {"notpyt"}});
    EXPECT_EQ(tree.decided_by(decider).at(2).role, Role::other) << "no data of the earlier process is left";
}

TEST(RoleDecider, DecidesAChainOfTenThousandProcessesQuicklyTheSecondTime) {
    constexpr pid_t kCount = 10'000;
    Tree tree{{.pid = 1, .comm = "python", .argv = kTrain, .rank = 9}};
    for (pid_t pid = 2; pid <= kCount; ++pid)
        tree.add({.pid = pid, .parent = pid - 1, .comm = "python", .argv = kTrain, .forked = true});
    tree.reverse();
    RoleDecider decider;
    const auto subjects = tree.subjects();
    const auto first = decider.decide(subjects);
    EXPECT_EQ(first.front(), (RoleKey{Role::dataloader_worker, 9}));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(decider.decide(subjects), first);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    RecordProperty("microseconds", static_cast<int>(took.count() * 1e6));
    EXPECT_LT(took.count(), 1.0);  // 1 ms in a release build; this leaves room for sanitizers and a busy machine
}

}  // namespace roles_decider_test
}  // namespace memscope
