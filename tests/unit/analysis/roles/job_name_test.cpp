#include "analysis/roles/job_name.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace memscope {
namespace {

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

TEST(JobName, IsWhatStandsBehindCommandsThatArePutBefore) {
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

TEST(JobName, IsTheProgramWhereThereIsNoScript) {
    EXPECT_EQ(name("/usr/bin/sleep 3"), "sleep");
    EXPECT_EQ(name("python3 -c pass"), "python3");
    EXPECT_EQ(name("nice"), "nice");
    EXPECT_EQ(job_name("kworker", {}), "kworker");
    EXPECT_EQ(job_name("title", {""}), "title");
}

TEST(JobName, IsBoundedWhateverTheArguments) {
    EXPECT_EQ(job_name("a", {std::string(1000, 'x')}).size(), 64U);
    EXPECT_EQ(job_name("a/b", {}), "a_b");
    std::vector<std::string> prefixes(10000, "nice");
    EXPECT_EQ(job_name("a", prefixes), "nice");
    EXPECT_EQ(job_name("a", {"python", "", "/"}), "python");
    EXPECT_EQ(job_name("a", {"nice", "/", "-"}), "nice");
}

}  // namespace
}  // namespace memscope
