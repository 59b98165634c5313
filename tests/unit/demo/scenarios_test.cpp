#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "demo/demo_tree.h"
#include "demo/job_files.h"
#include "demo/python_job.h"
#include "demo/scenario.h"

namespace memscope {
namespace scenarios_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The memory that would be charged to the cgroup: a shared page counts once until it is rewritten.
Bytes wanted(const Actor& actor, Seconds t, Bytes inherited = {}) {
    Bytes sum = actor.holds(t) + actor.mallocs(t) + actor.dataset + std::min(actor.rewrites(t), inherited);
    for (const Actor& child : actor.children) sum += wanted(child, t, actor.dataset);
    return sum;
}

Bytes peak(const Scenario& scenario) {
    Bytes most;
    for (Seconds t{}; t <= kScenarioLength; t += Seconds{0.25}) most = std::max(most, wanted(scenario.top, t));
    return most;
}

TEST(Scenarios, AllEightAreThereAndTheFirstIsTheLeak) {
    std::vector<std::string_view> names;
    for (const Scenario& scenario : scenarios()) names.push_back(scenario.name);
    EXPECT_THAT(names,
                ElementsAre("leak", "warmup", "spikes", "steps", "workers", "wrapper", "fragmentation", "crashloop"));
    EXPECT_EQ(scenario_names(), "leak, warmup, spikes, steps, workers, wrapper, fragmentation, crashloop");
}

TEST(Scenarios, AreFoundByTheirWholeName) {
    for (const Scenario& scenario : scenarios()) EXPECT_EQ(find_scenario(scenario.name), &scenario);
    for (const char* name : {"", "lea", "leaks", "Leak"}) EXPECT_EQ(find_scenario(name), nullptr) << name;
}

TEST(Scenarios, StayBelowTheirLimitAndFarBelowOneGibibyte) {
    for (const Scenario& scenario : scenarios()) {
        EXPECT_LE(scenario.limit, mebibytes(768)) << scenario.name;
        if (scenario.top.restarts) continue;  // it is meant to reach its limit
        // 6 % for page tables, stacks and the last chunk.
        EXPECT_LT(peak(scenario).n * 106 / 100, scenario.limit.n) << scenario.name << human_size(peak(scenario));
        EXPECT_GT(peak(scenario), mebibytes(100)) << scenario.name;
    }
}

TEST(Scenarios, TakeAboutAMinute) {
    EXPECT_GE(kScenarioLength, Seconds{45});
    EXPECT_LE(kScenarioLength, Seconds{60});
}

TEST(Scenarios, NamesFitIntoTheFifteenBytesTheKernelKeeps) {
    for (const Scenario& scenario : scenarios())
        for (const RoleRule& rule : role_rules_of(scenario.top)) {
            EXPECT_LE(rule.comm.size(), 15U);
            EXPECT_FALSE(rule.comm.empty());
        }
}

TEST(Scenarios, EveryNameHasOneRole) {
    for (const Scenario& scenario : scenarios()) {
        const auto rules = role_rules_of(scenario.top);
        const auto check = [&](const auto& self, const Actor& actor) -> void {
            const auto named = [&](const RoleRule& rule) { return rule.comm == actor.comm; };
            ASSERT_EQ(std::ranges::count_if(rules, named), 1) << scenario.name << ' ' << actor.comm;
            EXPECT_EQ(std::ranges::find_if(rules, named)->role, actor.role) << scenario.name << ' ' << actor.comm;
            for (const Actor& child : actor.children) self(self, child);
        };
        check(check, scenario.top);
    }
}

TEST(Scenarios, EveryJobIsInTheProgram) {
    for (const Scenario& scenario : scenarios()) {
        EXPECT_THAT(std::string(job_file(scenario.job.script)), HasSubstr("from stage import")) << scenario.name;
        EXPECT_THAT(std::string(job_file(scenario.job.launcher)), StartsWith("#!/bin/sh\n")) << scenario.name;
        if (!scenario.job.with_torch.empty()) {
            EXPECT_THAT(std::string(job_file(scenario.job.with_torch)), HasSubstr("import torch"));
        }
    }
    EXPECT_THAT(std::string(job_file("stage.py")), HasSubstr("class Loader"));
    EXPECT_EQ(job_file("train.py"), "");
}

TEST(Scenarios, AJobIsInADirectoryOfItsOwnThatIsRemoved) {
    const DemoJob& job = find_scenario("wrapper")->job;
    fs::path path;
    {
        auto directory = JobDirectory::make(job, false);
        ASSERT_TRUE(directory);
        path = directory->path();
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
        EXPECT_EQ(*read_file(path / "train.py"), job_file("wrapper.py"));
        EXPECT_EQ(*read_file(path / "uv"), job_file("uv.sh"));
        EXPECT_EQ(directory->last_error(), "");
        std::ofstream(path / "stderr.txt") << "Traceback\nImportError: no\x1b[2J module\n\n";
        EXPECT_EQ(directory->last_error(), "ImportError: no\\x1b[2J module");
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(Scenarios, ALeakWithPyTorchHasItsOwnProgram) {
    const DemoJob& job = find_scenario("leak")->job;
    auto plain = JobDirectory::make(job, false), torch = JobDirectory::make(job, true);
    ASSERT_TRUE(plain && torch);
    EXPECT_EQ(*read_file(plain->path() / "train.py"), job_file("leak.py"));
    EXPECT_EQ(*read_file(torch->path() / "train.py"), job_file("leak_torch.py"));
    auto other = JobDirectory::make(find_scenario("steps")->job, true);
    EXPECT_EQ(*read_file(other->path() / "train.py"), job_file("steps.py")) << "it has none with PyTorch";
}

TEST(Scenarios, TheGrowthOfTheWrapperIsTwoLevelsBelowIt) {
    const Actor& uv = find_scenario("wrapper")->top;
    const Actor& shell = uv.children.at(0);
    const Actor& trainer = shell.children.at(0);
    EXPECT_EQ(uv.comm, "uv");
    for (const Actor* flat : {&uv, &shell}) EXPECT_EQ(flat->holds({}), flat->holds(kScenarioLength)) << flat->comm;
    EXPECT_GT(trainer.holds(kScenarioLength) - trainer.holds({}), mebibytes(200));
}

TEST(Scenarios, WorkersRewriteAtMostTheDataset) {
    const Actor& trainer = find_scenario("workers")->top.children.at(0);
    EXPECT_GE(trainer.children.size(), 3U);
    for (const Actor& worker : trainer.children) {
        EXPECT_EQ(worker.rewrites({}).n, 0U);
        EXPECT_GT(worker.rewrites(kScenarioLength), mebibytes(100));
        EXPECT_LE(worker.rewrites(kScenarioLength), trainer.dataset);
    }
}

TEST(StageClock, IsZeroUntilItBeginsAndStopsAtTheEnd) {
    auto clock = StageClock::make(2);
    ASSERT_TRUE(clock);
    EXPECT_EQ(clock->at(5'000'000'000), Seconds{0});
    clock->begin(5'000'000'000);
    EXPECT_EQ(clock->at(4'000'000'000), Seconds{0});
    EXPECT_DOUBLE_EQ(clock->at(8'000'000'000).count(), 6);  // twice as fast
    EXPECT_EQ(clock->at(500'000'000'000), kScenarioLength);
}

TEST(StageClock, IsAFileThatOthersCanRead) {
    auto clock = StageClock::make(1);
    ASSERT_TRUE(clock);
    const auto read = [&] {
        std::uint64_t value = 1;
        EXPECT_EQ(::pread(clock->descriptor(), &value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
        return value;
    };
    EXPECT_EQ(read(), 0U);
    clock->begin(4'000'000'000);
    EXPECT_EQ(read(), 4'000'000'000U);
}

TEST(FragmentedHeap, FreesNineTenthsAndMallocCannotReuseThem) {
    FragmentedHeap heap;
    heap.follow(mebibytes(8));
    [[maybe_unused]] const auto before = ::mallinfo2();
    heap.follow(mebibytes(40));
    [[maybe_unused]] const auto after = ::mallinfo2();
    EXPECT_NEAR(static_cast<double>(heap.taken().n), static_cast<double>(mebibytes(40).n), 40'000);
    EXPECT_EQ(heap.live().n, heap.taken().n / 10);
#ifndef MEMSCOPE_SANITIZED  // the allocators of the sanitizers leave mallinfo2() at 0
    EXPECT_GT(after.arena - before.arena, mebibytes(31).n) << "the next blocks did not fit into what was freed";
    EXPECT_GT(after.fordblks - before.fordblks, mebibytes(27).n);
#endif
    heap.follow({});
    EXPECT_GT(heap.taken(), mebibytes(39)) << "it never shrinks";
}

TEST(ResidentMemory, FollowsUpAndDownInWholeChunks) {
    ResidentMemory memory;
    for (const std::uint64_t wanted_chunks : {3, 5, 5, 1, 0, 2}) {
        memory.follow({wanted_chunks * kChunk.n + kChunk.n / 3});
        EXPECT_EQ(memory.held().n, wanted_chunks * kChunk.n);
    }
}

}  // namespace scenarios_test
}  // namespace memscope
