// Process trees as on real machines.
#include <gtest/gtest.h>

#include "unit/analysis/roles/tree.h"

namespace memscope {

std::ostream& operator<<(std::ostream& out, const RoleKey& key) {
    return out << name_of(key.role) << " of rank " << (key.rank ? std::to_string(*key.rank) : "none");
}

namespace roles_trees_test {

const std::vector<std::string> kTrain{"/venv/bin/python3", "train.py", "--compile"};

RoleKey no_rank(Role role) { return {role, std::nullopt}; }

TEST(RoleTrees, UvRunWithWorkersAndCompileWorkers) {
    const std::vector<std::string> compile{
        "/venv/bin/python3",
        "/venv/lib/python3.12/site-packages/torch/_inductor/compile_worker/__main__.py",
        "--pickler=torch._inductor.compile_worker.subproc_pool.SubprocPickler",
        "--kind=fork",
        "--workers=20",
        "--parent=101"};
    Tree tree{{.pid = 100, .parent = 1, .comm = "uv", .argv = {"uv", "run", "train.py"}},
              {.pid = 101, .parent = 100, .comm = "python3", .argv = kTrain},
              {.pid = 102, .parent = 101, .comm = "python3", .argv = compile},
              {.pid = 103,
               .parent = 101,
               .comm = "python3",
               .argv = {"/venv/bin/python3", "-c", "from multiprocessing.resource_tracker import main;main(27)"}}};
    for (pid_t pid = 200; pid < 208; ++pid)
        tree.add({.pid = pid, .parent = 101, .comm = "pt_data_worker", .argv = kTrain, .forked = true});
    for (pid_t pid = 300; pid < 320; ++pid)
        tree.add({.pid = pid, .parent = 102, .comm = "python3", .argv = compile, .forked = true});
    tree.add({.pid = 400, .parent = 300, .comm = "ptxas", .argv = {"/venv/triton/bin/ptxas", "-lineinfo"}});

    const auto roles = tree.decided();
    EXPECT_EQ(roles.at(100), no_rank(Role::launcher));
    EXPECT_EQ(roles.at(101), no_rank(Role::trainer));
    EXPECT_EQ(roles.at(102), no_rank(Role::compile_worker));
    EXPECT_EQ(roles.at(103), no_rank(Role::helper));
    for (pid_t pid = 200; pid < 208; ++pid) EXPECT_EQ(roles.at(pid), no_rank(Role::dataloader_worker));
    for (pid_t pid = 300; pid < 320; ++pid) EXPECT_EQ(roles.at(pid), no_rank(Role::compile_worker));
    EXPECT_EQ(roles.at(400), no_rank(Role::other));
}

TEST(RoleTrees, TorchrunWithFourRanks) {
    Tree tree{{.pid = 10, .comm = "bash", .argv = {"bash", "job.sh"}},
              {.pid = 11,
               .parent = 10,
               .comm = "pt_elastic",
               .argv = {"/venv/bin/python", "/venv/bin/torchrun", "--nproc-per-node=4", "train.py"}}};
    for (int rank = 0; rank < 4; ++rank) {
        tree.add(
            {.pid = 20 + rank, .parent = 11, .comm = "python", .argv = {"python", "-u", "train.py"}, .rank = rank});
        tree.add({.pid = 30 + rank, .parent = 20 + rank, .comm = "python", .argv = kTrain, .forked = true});
        tree.add({.pid = 40 + rank, .parent = 30 + rank, .comm = "ffmpeg", .argv = {"ffmpeg", "-i", "x"}});
    }
    const auto roles = tree.decided();
    EXPECT_EQ(roles.at(10), no_rank(Role::launcher));
    EXPECT_EQ(roles.at(11), no_rank(Role::launcher));
    for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(roles.at(20 + rank), (RoleKey{Role::trainer, rank}));
        EXPECT_EQ(roles.at(30 + rank), (RoleKey{Role::dataloader_worker, rank}));
        EXPECT_EQ(roles.at(40 + rank), (RoleKey{Role::other, rank})) << "the rank of the nearest ancestor that has one";
    }
}

TEST(RoleTrees, SlurmStepWithAContainer) {
    const Tree tree{
        {.pid = 5, .comm = "slurmstepd", .argv = {"slurmstepd: [4711.0]"}},
        {.pid = 6, .parent = 5, .comm = "slurm_script", .argv = {"/bin/bash", "/var/spool/job/slurm_script"}},
        {.pid = 7, .parent = 6, .comm = "srun", .argv = {"srun", "--container-image=x", "python", "train.py"}},
        {.pid = 8, .parent = 7, .comm = "srun", .argv = {"srun", "--container-image=x"}, .forked = true},
        {.pid = 9, .parent = 5, .comm = "python", .argv = {"python", "train.py"}, .rank = 3}};
    const auto roles = tree.decided();
    for (const pid_t pid : {5, 6, 7, 8}) EXPECT_EQ(roles.at(pid), no_rank(Role::launcher)) << pid;
    EXPECT_EQ(roles.at(9), (RoleKey{Role::trainer, 3}));
}

TEST(RoleTrees, AccelerateBehindADeepTowerOfWrappers) {
    const Tree tree{
        {.pid = 1, .comm = "tini", .argv = {"/usr/bin/tini", "--", "bash"}},
        {.pid = 2, .parent = 1, .comm = "sudo", .argv = {"sudo", "-u", "me", "poetry", "run"}},
        {.pid = 3, .parent = 2, .comm = "poetry", .argv = {"/usr/bin/python3", "/home/me/.local/bin/poetry"}},
        {.pid = 4, .parent = 3, .comm = "accelerate", .argv = {"/v/python", "/v/bin/accelerate", "launch"}},
        {.pid = 5, .parent = 4, .comm = "python", .argv = {"/v/python", "train.py"}, .rank = 0}};
    const auto roles = tree.decided();
    for (pid_t pid = 1; pid <= 4; ++pid) EXPECT_EQ(roles.at(pid), no_rank(Role::launcher)) << pid;
    EXPECT_EQ(roles.at(5), (RoleKey{Role::trainer, 0}));
}

TEST(RoleTrees, ForkedWorkersOfOlderPyTorchInAnyOrder) {
    Tree tree{{.pid = 10, .comm = "bash", .argv = {"bash", "train.sh"}},
              {.pid = 11, .parent = 10, .comm = "python", .argv = kTrain},
              {.pid = 12, .parent = 11, .comm = "python", .argv = kTrain, .forked = true},
              {.pid = 13, .parent = 12, .comm = "python", .argv = kTrain, .forked = true},
              {.pid = 14, .parent = 11, .comm = "python", .argv = kTrain, .forked = true, .own_memory = false}};
    const auto forward = tree.decided();
    EXPECT_EQ(forward.at(11), no_rank(Role::trainer));
    EXPECT_EQ(forward.at(12), no_rank(Role::dataloader_worker));
    EXPECT_EQ(forward.at(13), no_rank(Role::dataloader_worker));
    EXPECT_EQ(forward.at(14), no_rank(Role::other)) << "subprocess.run() on its way to exec";
    tree.reverse();
    EXPECT_EQ(tree.decided(), forward);
}

TEST(RoleTrees, SpawnedWorkersAndAForkServer) {
    const std::vector<std::string> spawn{"python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()",
                                         "--multiprocessing-fork"};
    const std::vector<std::string> server{"python", "-c", "from multiprocessing.forkserver import main; main(3, 4)"};
    const Tree tree{{.pid = 11, .comm = "python", .argv = kTrain},
                    {.pid = 12, .parent = 11, .comm = "python", .argv = spawn},
                    {.pid = 13, .parent = 11, .comm = "python", .argv = server},
                    {.pid = 14, .parent = 13, .comm = "python", .argv = server, .forked = true}};
    const auto roles = tree.decided();
    EXPECT_EQ(roles.at(12), no_rank(Role::dataloader_worker));
    EXPECT_EQ(roles.at(13), no_rank(Role::helper));
    EXPECT_EQ(roles.at(14), no_rank(Role::dataloader_worker));
}

}  // namespace roles_trees_test
}  // namespace memscope
