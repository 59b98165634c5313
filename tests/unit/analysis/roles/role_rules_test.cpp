#include "analysis/roles/role_rules.h"

#include <gtest/gtest.h>

namespace memscope {

std::ostream& operator<<(std::ostream& out, Role role) { return out << name_of(role); }

namespace role_rules_test {

using Argv = std::vector<std::string>;

Role builtin(std::string_view comm, const Argv& argv, std::optional<Role> parent = std::nullopt) {
    return decide_role({.comm = comm, .argv = argv, .parent_role = parent}, builtin_role_rules());
}
Role builtin_fork(std::string_view comm, const Argv& argv, std::optional<Role> parent, bool own_memory = true) {
    return decide_role(
        {.comm = comm, .argv = argv, .forked_without_exec = true, .own_memory = own_memory, .parent_role = parent},
        builtin_role_rules());
}

TEST(RoleRules, WithoutRulesEverythingIsOther) {
    const Argv argv{"python", "train.py"};
    EXPECT_EQ(decide_role({.comm = "python", .argv = argv}, {}), Role::other);
}

TEST(RoleRules, TheFirstRuleThatMatchesWins) {
    const Argv argv{"python", "train.py"};
    const RoleRule rules[] = {{.role = Role::helper, .comm = "nothing"},
                              {.role = Role::launcher, .comm = "py*"},
                              {.role = Role::trainer, .program = "python"}};
    EXPECT_EQ(decide_role({.comm = "python", .argv = argv}, rules), Role::launcher);
}

TEST(RoleRules, EveryConditionThatIsGivenMustHold) {
    const Argv argv{"/opt/bin/feeder", "--queue", "main"};
    const RoleRule rule{.role = Role::helper,
                        .comm = "feed*",
                        .program = "feeder",
                        .argument = "--queue",
                        .parent = Role::trainer,
                        .forked_without_exec = false};
    const auto decide = [&](const RoleRule& changed) {
        return decide_role({.comm = "feeder", .argv = argv, .parent_role = Role::trainer}, std::span(&changed, 1));
    };
    EXPECT_EQ(decide(rule), Role::helper);
    RoleRule changed = rule;
    changed.comm = "eater";
    EXPECT_EQ(decide(changed), Role::other);
    changed = rule;
    changed.program = "feed";
    EXPECT_EQ(decide(changed), Role::other);
    changed = rule;
    changed.argument = "--queu?e";
    EXPECT_EQ(decide(changed), Role::other);
    changed = rule;
    changed.parent = Role::launcher;
    EXPECT_EQ(decide(changed), Role::other);
    changed = rule;
    changed.forked_without_exec = true;
    EXPECT_EQ(decide(changed), Role::other);
    changed = rule;
    changed.own_memory = false;
    EXPECT_EQ(decide(changed), Role::other);
}

TEST(RoleRules, GlobsMatchAsFnmatchDoes) {
    struct Case {
        const char* pattern;
        const char* text;
    };
    const auto matches = [](const Case& each) {
        const RoleRule rule{.role = Role::helper, .comm = each.pattern};
        const Argv argv;
        return decide_role({.comm = each.text, .argv = argv}, std::span(&rule, 1)) == Role::helper;
    };
    for (const Case& each : {Case{"a", "a"},
                             {"a*", "a"},
                             {"a*", "ab"},
                             {"*a", "a"},
                             {"*a", "ba"},
                             {"*a*", "bab"},
                             {"*", ""},
                             {"*", "x"},
                             {"**", "x"},
                             {"*/*", "a/b"},
                             {"a?c", "abc"},
                             {"[ab]*", "bx"},
                             {"a*c*e", "abcde"},
                             {"\\*", "*"},
                             {"a\\*", "a*"},
                             {"*[[:digit:]]", "x7"},
                             {"?", "/"}})
        EXPECT_TRUE(matches(each)) << each.pattern << " " << each.text;
    for (const Case& each : {Case{"a", "ab"},
                             {"a", ""},
                             {"a*", "ba"},
                             {"*a", "ab"},
                             {"*a*", "b"},
                             {"a?c", "ac"},
                             {"[!b]*", "bx"},
                             {"a*c*e", "abd"},
                             {"\\*", "x"},
                             {"a\\*", "ab"},
                             {"[", "x"},
                             {"A", "a"}})
        EXPECT_FALSE(matches(each)) << each.pattern << " " << each.text;
}

TEST(RoleRules, ARuleAboutTheParentNeedsAParent) {
    const RoleRule rule{.role = Role::helper, .parent = Role::trainer};
    const Argv argv;
    EXPECT_EQ(decide_role({.comm = "x", .argv = argv}, std::span(&rule, 1)), Role::other);
}

TEST(BuiltinRoles, LaunchersAreKnownByProgram) {
    for (const char* program : {"uv", "/usr/bin/bash", "-bash", "/usr/bin/tini", "srun", "mpirun", "numactl", "sudo",
                                "accelerate", "s6-supervise", "/usr/lib/systemd/systemd"})
        EXPECT_EQ(builtin("x", {program, "run", "python"}), Role::launcher) << program;
}

TEST(BuiltinRoles, LaunchersWrittenInPythonAreNoTrainers) {
    EXPECT_EQ(builtin("torchrun", {"/venv/bin/python", "/venv/bin/torchrun", "train.py"}), Role::launcher);
    EXPECT_EQ(builtin("accelerate", {"/venv/bin/python3.12", "/venv/bin/accelerate", "launch", "x.py"}),
              Role::launcher);
    EXPECT_EQ(builtin("python", {"python", "-m", "torch.distributed.launch", "x.py"}), Role::launcher);
    EXPECT_EQ(builtin("python", {"python", "-u", "-m", "deepspeed.launcher.launch", "x.py"}), Role::launcher);
    EXPECT_EQ(builtin("python", {"python", "-m", "accelerate.commands.launch", "x.py"}), Role::launcher);
    EXPECT_EQ(builtin("python", {"python", "/lib/torch/distributed/run.py", "x.py"}), Role::launcher);
    EXPECT_EQ(builtin("pt_elastic", {"python", "mylaunch.py"}), Role::launcher);
    EXPECT_EQ(builtin("wandb", {"python", "/venv/bin/wandb", "agent", "me/sweep/1"}), Role::launcher);
}

TEST(BuiltinRoles, LaunchersThatRewriteTheirTitleAreKnownByName) {
    EXPECT_EQ(builtin("sshd", {"sshd: me@pts/0"}), Role::launcher);
    EXPECT_EQ(builtin("tmux: server", {"tmux", "new"}), Role::launcher);
    EXPECT_EQ(builtin("slurmstepd", {"slurmstepd: [4711.0]"}), Role::launcher);
    EXPECT_EQ(builtin("containerd-shim", {"/usr/bin/containerd-shim-runc-v2", "-id", "1"}), Role::launcher);
}

TEST(BuiltinRoles, PythonIsATrainerWithAnyNameOfItsScript) {
    for (const char* script : {"train.py", "wandb_train.py", "tensorboard_run.py", "accelerate_me.py", "ray_train.py"})
        EXPECT_EQ(builtin("python", {"/venv/bin/python3.11", script, "--project", "wandb"}), Role::trainer) << script;
    EXPECT_EQ(builtin("python", {"python", "-m", "mypkg.train"}), Role::trainer);
    EXPECT_EQ(builtin("train.py", {"/usr/bin/python3", "./train.py"}), Role::trainer);
    EXPECT_EQ(builtin("ray::RayTrainWo", {"ray::RayTrainWorker.run"}), Role::trainer);
}

TEST(BuiltinRoles, HelpersAreNeitherTrainersNorWorkers) {
    EXPECT_EQ(builtin("python", {"python", "-c", "from multiprocessing.resource_tracker import main;main(27)"},
                      Role::trainer),
              Role::helper);
    EXPECT_EQ(builtin("python", {"python", "-c", "from multiprocessing.forkserver import main; main(39, 40, [])"},
                      Role::trainer),
              Role::helper);
    EXPECT_EQ(builtin("python", {"python", "-c", "from multiprocessing.semaphore_tracker import main;main(5)"}),
              Role::helper);
    EXPECT_EQ(
        builtin("wandb-core", {"/venv/lib/python3.11/site-packages/wandb/bin/wandb-core", "--port-filename", "/t"}),
        Role::helper);
    EXPECT_EQ(builtin("tensorboard", {"/venv/bin/python", "/venv/bin/tensorboard", "--logdir", "runs"}), Role::helper);
    EXPECT_EQ(builtin("nvidia-smi", {"nvidia-smi", "dmon"}), Role::helper);
    EXPECT_EQ(builtin("raylet", {"/x/ray/core/src/ray/raylet/raylet", "--raylet_socket_name=x"}), Role::helper);
    EXPECT_EQ(builtin("torch_shm_manag", {"/x/torch/bin/torch_shm_manager"}, Role::trainer), Role::helper);
    EXPECT_EQ(builtin("ray::IDLE", {"ray::IDLE"}), Role::helper);
}

TEST(BuiltinRoles, ASpawnedPythonTakesItsWorkFromItsParent) {
    const Argv argv{"/venv/bin/python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)",
                    "--multiprocessing-fork"};
    EXPECT_EQ(builtin("python", argv, Role::trainer), Role::dataloader_worker);
    EXPECT_EQ(builtin("python", argv, Role::compile_worker), Role::compile_worker);
    EXPECT_EQ(builtin("python", argv, Role::launcher), Role::trainer);
    EXPECT_EQ(builtin("prog", {"prog", "--multiprocessing-fork", "x"}, Role::trainer), Role::dataloader_worker);
}

TEST(BuiltinRoles, AForkOfATrainerIsAWorkerAlthoughItHasTheTrainersArgv) {
    const Argv argv{"python", "train.py"};
    EXPECT_EQ(builtin_fork("python", argv, Role::trainer), Role::dataloader_worker);
    EXPECT_EQ(builtin_fork("python", argv, Role::dataloader_worker), Role::dataloader_worker);
    EXPECT_EQ(builtin_fork("python", argv, Role::helper), Role::helper);
    EXPECT_EQ(builtin_fork("python", argv, Role::compile_worker), Role::compile_worker);
    EXPECT_EQ(builtin_fork("python", argv, Role::launcher), Role::trainer);
    EXPECT_EQ(builtin_fork("python", argv, std::nullopt), Role::trainer);
}

TEST(BuiltinRoles, ForksOfAForkServerAreWorkers) {
    const Argv argv{"python", "-c", "from multiprocessing.forkserver import main; main(39, 40, ['__main__'])"};
    EXPECT_EQ(builtin_fork("python", argv, Role::helper), Role::dataloader_worker);
}

TEST(BuiltinRoles, AVforkChildIsNoWorker) {
    EXPECT_EQ(builtin_fork("python", {"python", "train.py"}, Role::trainer, false), Role::other);
}

TEST(BuiltinRoles, ANamedWorkerIsAWorkerBeforeItsMemoryIsKnown) {
    EXPECT_EQ(builtin_fork("pt_data_worker", {"python", "train.py"}, Role::trainer, false), Role::dataloader_worker);
}

TEST(BuiltinRoles, ASubshellIsALauncherLikeItsShell) {
    EXPECT_EQ(builtin_fork("bash", {"bash", "train.sh"}, Role::launcher), Role::launcher);
}

TEST(BuiltinRoles, CompilersAreOther) {
    for (const Role parent : {Role::trainer, Role::compile_worker})
        for (const char* program : {"/usr/bin/gcc", "ld", "nvcc", "/x/triton/backends/nvidia/bin/ptxas", "/bin/true"})
            EXPECT_EQ(builtin("x", {program, "-O2"}, parent), Role::other) << program;
}

TEST(BuiltinRoles, AcceptsAnyBytes) {
    EXPECT_EQ(builtin("pt_data_worker\xff\n\x1b[31m", {"\xff\xfe"}), Role::dataloader_worker);
    EXPECT_EQ(builtin("\xff\n", {"\xc3", "\xff/torch/_inductor/compile_worker\xff"}), Role::compile_worker);
    EXPECT_EQ(builtin(std::string_view("\0python", 7), {std::string("\0", 1), std::string(1 << 20, '*')}), Role::other);
    EXPECT_EQ(builtin("[[[***", {"[", "*[", "\\"}), Role::other);
}

}  // namespace role_rules_test
}  // namespace memscope
