#include <gmock/gmock.h>

#include "analysis/roles/role_rules.h"

namespace memscope {
namespace role_rules_program_names_test {

using testing::ElementsAre;

TEST(ProgramNames, ABinaryHasItsBaseName) {
    const std::vector<std::string> argv{"/usr/local/bin/uv", "run", "train.py"};
    EXPECT_THAT(program_names("uv", argv), ElementsAre("uv"));
}

TEST(ProgramNames, AScriptFollowsItsInterpreter) {
    const std::vector<std::string> argv{"/venv/bin/python3.11", "/venv/bin/torchrun", "--nproc-per-node=4", "train.py"};
    EXPECT_THAT(program_names("torchrun", argv), ElementsAre("python3.11", "torchrun"));
}

TEST(ProgramNames, AModuleIsNamedInFull) {
    const std::vector<std::string> argv{"python", "-u", "-m", "torch.distributed.run", "train.py"};
    EXPECT_THAT(program_names("python", argv), ElementsAre("python", "torch.distributed.run"));
}

TEST(ProgramNames, FlagsMayStandTogetherWithTheModule) {
    const std::vector<std::string> together{"python", "-um", "torch.distributed.run"};
    EXPECT_THAT(program_names("python", together), ElementsAre("python", "torch.distributed.run"));
    const std::vector<std::string> glued{"python", "-mtorch.distributed.run"};
    EXPECT_THAT(program_names("python", glued), ElementsAre("python", "torch.distributed.run"));
}

TEST(ProgramNames, TheValueOfAnOptionIsNotTheScript) {
    const std::vector<std::string> argv{"python", "-W", "ignore", "-Xfrozen_modules=off", "-X", "dev", "/src/train.py"};
    EXPECT_THAT(program_names("python", argv), ElementsAre("python", "train.py"));
    const std::vector<std::string> shell{"bash", "--rcfile", "/etc/rc", "-eo", "pipefail", "/job/slurm_script", "x"};
    EXPECT_THAT(program_names("slurm_script", shell), ElementsAre("bash", "slurm_script"));
}

TEST(ProgramNames, CodeOnTheCommandLineHasNoName) {
    const std::vector<std::string> argv{"python", "-c", "print(1)", "torchrun"};
    EXPECT_THAT(program_names("python", argv), ElementsAre("python"));
    const std::vector<std::string> shell{"sh", "-ec", "torchrun train.py", "torchrun"};
    EXPECT_THAT(program_names("sh", shell), ElementsAre("sh"));
    const std::vector<std::string> piped{"python", "-", "torchrun"};
    EXPECT_THAT(program_names("python", piped), ElementsAre("python"));
}

TEST(ProgramNames, AModuleOptionWithoutItsValueHasNoName) {
    const std::vector<std::string> argv{"python", "-m"};
    EXPECT_THAT(program_names("python", argv), ElementsAre("python"));
}

TEST(ProgramNames, ALoginShellIsAShell) {
    const std::vector<std::string> argv{"-bash"};
    EXPECT_THAT(program_names("bash", argv), ElementsAre("bash"));
}

TEST(ProgramNames, WithoutArgvUsesTheProcessName) {
    EXPECT_THAT(program_names("python3", {}), ElementsAre("python3"));
    const std::vector<std::string> empty{""};
    EXPECT_THAT(program_names("python3", empty), ElementsAre("python3"));
    const std::vector<std::string> directory{"/bin/"};
    EXPECT_THAT(program_names("odd", directory), ElementsAre("odd"));
    EXPECT_THAT(program_names("", {}), ElementsAre(""));
}

}  // namespace role_rules_program_names_test
}  // namespace memscope
