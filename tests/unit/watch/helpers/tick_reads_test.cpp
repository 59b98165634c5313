#include "watch/helpers/tick_reads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace tick_reads_test {

constexpr pid_t kLastThatBlocks = 3;
constexpr pid_t kLastOfCgroup = 1100;  // more than the details that one tick reads
constexpr pid_t kOther = 2000;

// Answers for all processes except the first ones, which block the helper.
Packer work(Unpacker& bytes) {
    ReadJob kind{};
    DetailsJob job;
    bytes.take(kind);
    bytes.take(job);
    while (job.id.pid <= kLastThatBlocks) ::pause();
    Packer packer;
    packer.put(Result<DetailsJob::Answer>(ProcessDetails{.argv = {"python3", "train.py"}}));
    return packer;
}

TEST(DetailsReader, BlockedProcessesDoNotUseUpTheReadsOfATick) {
    FakeTree tree{{"proc/", ""}};
    ProcessTable processes(1);
    const auto add = [&](pid_t pid, const char* cgroup) {
        tree.write(fmt::format("proc/{}/cgroup", pid), cgroup);
        processes.apply(Forked{.time_ns = 2, .id = {pid, 2}, .parent = 1, .target = CgroupId{1}, .comm = "python3"});
    };
    for (pid_t pid = 1; pid <= kLastOfCgroup; ++pid) add(pid, "0::/blocks\n");
    add(kOther, "0::/other\n");
    auto spawner = HelperSpawner::start({.prepare = {}, .serve = [](Fd socket) { serve_requests(socket, work); }});
    ASSERT_TRUE(spawner);
    ProcessReader reader(*spawner, {.root = tree.root(), .deadline = Seconds{0.1}});
    DetailsReader details;
    const auto tick = [&] {
        pollfd answers{reader.fd(), POLLIN, 0};
        (void)::poll(&answers, 1, 20);
        reader.pump();
        details.read(reader, processes);
    };
    while (!reader.is_blocked(kLastOfCgroup)) tick();  // three of the cgroup have blocked their readers
    for (int i = 0; i < 100 && processes.living().at(kOther).details_wanted; ++i) tick();
    EXPECT_EQ(processes.living().at(kOther).argv, (std::vector<std::string>{"python3", "train.py"}));
    EXPECT_TRUE(processes.living().at(kLastOfCgroup).details_wanted) << "it is read later";
}

TEST(DetailsReader, AProgramThatStartsBetweenTicksHasItsDetailsAtTheTick) {
    constexpr pid_t kPid = 50;
    const FakeTree tree{{"proc/", ""}};
    ProcessTable processes(1);
    processes.apply(Forked{.time_ns = 2, .id = {kPid, 2}, .parent = 1, .target = CgroupId{1}, .comm = "bash"});
    processes.apply(Execed{.time_ns = 3, .id = {kPid, 2}, .comm = "python3"});
    auto spawner = HelperSpawner::start({.prepare = {}, .serve = [](Fd socket) { serve_requests(socket, work); }});
    ASSERT_TRUE(spawner);
    ProcessReader reader(*spawner, {.root = tree.root(), .deadline = Seconds{60}});
    DetailsReader details;
    details.executed(reader, {kPid, 2}, processes);
    EXPECT_TRUE(processes.living().at(kPid).details_wanted) << "nobody waits for the helper";
    for (int i = 0; i < 500 && processes.living().at(kPid).details_wanted; ++i) {
        pollfd answers{reader.fd(), POLLIN, 0};
        (void)::poll(&answers, 1, 20);
        reader.pump();
        details.take_answers(reader, processes);
    }
    EXPECT_EQ(processes.living().at(kPid).argv, (std::vector<std::string>{"python3", "train.py"}));
}

TEST(DetailsReader, DropsAnAnswerAboutTheProgramBeforeAnExec) {
    constexpr pid_t kPid = 50;
    const FakeTree tree{{"proc/", ""}};
    ProcessTable processes(1);
    processes.apply(Forked{.time_ns = 2, .id = {kPid, 2}, .parent = 1, .target = CgroupId{1}, .comm = "bash"});
    processes.apply(Execed{.time_ns = 3, .id = {kPid, 2}, .comm = "python3"});
    auto spawner = HelperSpawner::start({.prepare = {}, .serve = [](Fd socket) { serve_requests(socket, work); }});
    ASSERT_TRUE(spawner);
    ProcessReader reader(*spawner, {.root = tree.root(), .deadline = Seconds{60}});
    DetailsReader details;
    details.executed(reader, {kPid, 2}, processes);
    processes.apply(Execed{.time_ns = 4, .id = {kPid, 2}, .comm = "sleep"});
    while (reader.answers() == 0) {
        pollfd answers{reader.fd(), POLLIN, 0};
        (void)::poll(&answers, 1, 20);
        reader.pump();
    }
    details.take_answers(reader, processes);
    EXPECT_TRUE(processes.living().at(kPid).details_wanted);
    EXPECT_TRUE(processes.living().at(kPid).argv.empty());
}

// Fails until the third job, and answers from then on.
Packer fail_twice(Unpacker&) {
    static int jobs = 0;
    Packer packer;
    if (++jobs <= 2)
        packer.put(Result<ShmJob::Answer>(plain_error("cannot find /dev/shm: a list of mounts is too long")));
    else
        packer.put(Result<ShmJob::Answer>(ShmUsage{.used = {1}, .size = {4}}));
    return packer;
}

TEST(ShmUsageReader, SaysOnceWhyTheUsageIsNotKnown) {
    constexpr std::uint64_t kLater = 6'000'000'000;  // ns; more than the time between two reads
    auto spawner =
        HelperSpawner::start({.prepare = {}, .serve = [](Fd socket) { serve_requests(socket, fail_twice); }});
    ASSERT_TRUE(spawner);
    ProcessReader reader(*spawner, {.deadline = Seconds{60}});
    ShmUsageReader shm;
    Process process;
    process.task.id = {10, 1};
    process.task.mount_namespace = 7;
    std::vector<Error> troubles;
    std::uint64_t now = kLater;
    const auto read = [&](const auto& is_done) {
        while (!is_done()) {
            pollfd answers{reader.fd(), POLLIN, 0};
            (void)::poll(&answers, 1, 20);
            reader.pump();
            now += kLater;
            (void)shm.read(reader, {process}, now);
            if (auto trouble = shm.take_trouble()) troubles.push_back(*trouble);
        }
    };
    read([&] { return !troubles.empty(); });
    EXPECT_EQ(troubles.front().where, "cannot find /dev/shm: a list of mounts is too long");
    read([&] { return shm.read(reader, {process}, now).has_value(); });
    EXPECT_EQ(troubles.size(), 1U) << "the second failure is the same";
}

}  // namespace tick_reads_test
}  // namespace memscope
