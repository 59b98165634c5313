#include "analysis/roles/job_name.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace memscope {
namespace job_name_test {

std::string name(std::string_view command_line) {
    std::vector<std::string> argv;
    for (const auto word : split(command_line, ' ')) argv.emplace_back(word);
    return job_name("comm", argv);
}

TEST(JobName, IsTheScriptAndNotTheInterpreter) {
    EXPECT_EQ(name("python3 train.py --lr 3"), "train.py");
    EXPECT_EQ(name("/venv/bin/python3.11 -u /home/a/train.py"), "train.py");
    EXPECT_EQ(name("bash run.sh"), "run.sh");
    EXPECT_EQ(name("python -m package.train --x"), "package.train");
}

TEST(JobName, SkipsWrapperCommands) {
    EXPECT_EQ(name("nice -n 10 python train.py"), "train.py");
    EXPECT_EQ(name("numactl --membind 0 nice sleep 3"), "sleep");
    EXPECT_EQ(name("env A=1 timeout 5m ./simulate --steps 3"), "simulate");
    EXPECT_EQ(name("sudo -u alice taskset -c 0-3 /opt/simulate"), "simulate");
    EXPECT_EQ(name("uv run python -m package.train"), "package.train");
}

TEST(JobName, IsTheScriptThatALauncherStarts) {
    EXPECT_EQ(name("torchrun --nproc-per-node 4 train.py --epochs 3"), "train.py");
    EXPECT_EQ(name("python3 /venv/bin/torchrun --standalone src/train.py"), "train.py");
    EXPECT_EQ(name("python -m torch.distributed.run train.py"), "train.py");
    EXPECT_EQ(name("accelerate launch --config_file a.yaml train.py"), "train.py");
}

TEST(JobName, SkipsEveryKnownWrapperWithItsOptions) {
    for (const char* prefix :
         {"env A=1", "nice", "nice -n 10", "ionice -c 3", "taskset -c 0-3", "numactl --membind=0", "timeout 5m",
          "timeout -k 5 1h", "stdbuf -oL", "sudo -u alice", "sudo -E", "nohup", "chrt --batch 0", "setsid"}) {
        EXPECT_EQ(name(std::string(prefix) + " python3 -u src/train.py --lr 1"), "train.py") << prefix;
        EXPECT_EQ(name(std::string(prefix) + " python3 -m pkg.train"), "pkg.train") << prefix;
    }
    EXPECT_EQ(name("uv run train.py"), "train.py");
    EXPECT_EQ(name("uv run --with numpy python -m pkg.train"), "pkg.train");
    EXPECT_EQ(name("torchrun --nproc-per-node=4 -m pkg.train"), "pkg.train");
}

TEST(JobName, IsTheProgramThatShellCodeStarts) {
    const auto code = [](std::string text) { return job_name("comm", {"bash", "-c", std::move(text)}); };
    EXPECT_EQ(code("python train.py"), "train.py");
    EXPECT_EQ(code("cd /data/src && . env/bin/activate && exec python -u train.py >log 2>&1"), "train.py");
    EXPECT_EQ(code("export A=1; A=2 nice python -m 'pkg.train' --x"), "pkg.train");
    EXPECT_EQ(code("./simulate --steps 3; echo done"), "simulate");
    EXPECT_EQ(code("bash -c 'python train.py'"), "train.py");
    EXPECT_EQ(code("./simulate 2>&1 &>log; echo"), "simulate");
    EXPECT_EQ(code("cat x 2>&1 | nice python train.py"), "train.py");
    EXPECT_EQ(code(""), "bash");
    EXPECT_EQ(code("'"), "bash");
    EXPECT_EQ(job_name("comm", {"/bin/bash", "-lc", "torchrun src/train.py"}), "train.py");
    EXPECT_EQ(job_name("comm", {"nice", "sh", "-c", "python train.py"}), "train.py");
    EXPECT_EQ(job_name("comm", {"bash", "run.sh", "-c", "python other.py"}), "run.sh");
}

TEST(JobName, IsTheProgramWhereThereIsNoScript) {
    EXPECT_EQ(name("/usr/bin/sleep 3"), "sleep");
    EXPECT_EQ(name("python3 -c pass"), "python3");
    EXPECT_EQ(name("nice"), "nice");
    EXPECT_EQ(job_name("kworker", {}), "kworker");
    EXPECT_EQ(job_name("title", {""}), "title");
}

TEST(JobName, IsBoundedForAnyArguments) {
    EXPECT_EQ(job_name("a", {std::string(1000, 'x')}).size(), 64U);
    EXPECT_EQ(job_name("a/b", {}), "a_b");
    std::vector<std::string> prefixes(10000, "nice");
    EXPECT_EQ(job_name("a", prefixes), "nice");
    EXPECT_EQ(job_name("a", {"python", "", "/"}), "python");
    EXPECT_EQ(job_name("a", {"nice", "/", "-"}), "nice");
}

}  // namespace job_name_test
}  // namespace memscope
