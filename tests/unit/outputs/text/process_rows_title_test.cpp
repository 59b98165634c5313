#include <gtest/gtest.h>

#include "outputs/text/process_rows.h"

namespace memscope {
namespace process_rows_title_test {

Process process(const char* comm, const char* command) {
    Process process;
    process.task.comm = comm;
    process.command = std::make_shared<const std::string>(command);
    return process;
}

std::string title(const char* comm, const char* command) { return title_of(process(comm, command)); }

TEST(ProcessTitle, IsTheCommandWithoutDirectories) {
    EXPECT_EQ(title("python3", "/usr/bin/python3 -u train.py"), "python3 -u train.py");
    EXPECT_EQ(title("python3", "/usr/bin/python3 /home/me/jobs/train.py --lr /tmp/x"), "python3 train.py --lr /tmp/x");
    EXPECT_EQ(title("uv", "uv run /home/me/train.py"), "uv run /home/me/train.py");
    EXPECT_EQ(title("kworker", ""), "[kworker]");
    EXPECT_EQ(title("python3", "/usr/bin/python3"), "python3");
}

TEST(ProcessTitle, BeginsWithCommIfItDiffersFromTheCommand) {
    EXPECT_EQ(title("pt_data_worker", "/usr/bin/python3 train.py"), "pt_data_worker: python3 train.py");
}

TEST(ProcessTitle, AScriptThatIsStartedByItsNameIsNotNamedTwice) {
    EXPECT_EQ(title("launch.sh", "/bin/sh ./launch.sh"), "launch.sh");
    EXPECT_EQ(title("torchrun", "/venv/bin/python /venv/bin/torchrun --nproc 2 train.py"),
              "torchrun --nproc 2 train.py");
}

TEST(ProcessTitle, APathOfAnInterpreterCanHaveSpaces) {
    EXPECT_EQ(title("python3.11", "/opt/my env/bin/python3.11 -u train.py"), "python3.11 -u train.py");
    EXPECT_EQ(title("pt_data_worker", "/opt/my env/bin/python3 train.py"), "pt_data_worker: python3 train.py");
    EXPECT_EQ(title("my tool", "/opt/my env/my tool --x"), "my tool --x");
}

TEST(ProcessTitle, AModuleAndAProgramTextStayAsTheyAre) {
    EXPECT_EQ(title("python3", "/usr/bin/python3 -m torch.distributed.run train.py"),
              "python3 -m torch.distributed.run train.py");
    EXPECT_EQ(title("python3", "/usr/bin/python3 -I -c exec(x)"), "python3 -I -c exec(x)");
}

TEST(ProcessTitle, ANarrowColumnShowsTheScript) {
    const Process trainer = process("python3", "/usr/bin/python3 -u -X dev train.py --lr 3");
    EXPECT_EQ(title_of(trainer, 60), "python3 -u -X dev train.py --lr 3");
    const Process simple = process("python3", "/usr/bin/python3 -u /home/me/train.py --lr 3");
    EXPECT_EQ(title_of(simple, 60), "python3 -u train.py --lr 3");
    EXPECT_EQ(title_of(simple, 18), "train.py --lr 3");
    EXPECT_EQ(title_of(process("pt_data_worker", "python3 -u train.py"), 20), "pt_data_worker: train.py");
    EXPECT_EQ(title_of(process("uv", "uv run a very long command"), 10), "uv run a very long command");
}

}  // namespace process_rows_title_test
}  // namespace memscope
