#include "watch/targets/process_target.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "sources/cgroup/cgroup_directory.h"
#include "support/fake_tree.h"
#include "support/few_descriptors.h"

namespace memscope {
namespace process_target_test {

// The processes 10 and 11 in a v2 hierarchy with the cgroups jobs/a and jobs/b.
struct FakeJob {
    FakeJob() {
        add_cgroup("jobs", 7000);
        add_cgroup("jobs/a", 1000);
        add_cgroup("jobs/b", 2000);
        for (const pid_t pid : {10, 11}) {
            tree.write(fmt::format("proc/{}/comm", pid), "python3\n");
            tree.write(fmt::format("proc/{}/status", pid), fmt::format("Name:\tpython3\nTgid:\t{}\n", pid));
        }
        move(10, "jobs/a");
        move(11, "jobs/b");
        auto opened = ProcessTarget::open(tree.root(), hierarchy, 10,
                                          [](const ProcessId&) { return std::vector<std::string>{}; });
        if (!opened) throw std::runtime_error(opened.error().message());
        target = std::move((*opened)->refresh().added.front());
    }
    void add_cgroup(const std::string& path, std::uint64_t usage) {
        const auto at = [&](const char* file) { return "cg/" + path + "/" + file; };
        tree.add({{at("cgroup.procs"), ""},
                  {at("memory.current"), fmt::format("{}\n", usage)},
                  {at("memory.max"), "max\n"},
                  {at("memory.stat"), "anon 0\nfile 0\nkernel 0\n"},
                  {at("memory.events"), "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"}});
    }
    void move(pid_t pid, const std::string& path) {
        tree.write(fmt::format("proc/{}/cgroup", pid), "0::/" + path + "\n");
    }

    FakeTree tree{{"cg/cgroup.procs", ""}, {"proc/self/", ""}};
    CgroupHierarchy hierarchy{.version = 2, .mount = tree.at("cg")};
    NewTarget target{};

    Result<MemoryState> sample(const std::vector<Process>& processes) { return target.memory->sample({}, processes); }
};

// In the cgroup with that id: the id decides whether the path is read again.
Process process(pid_t pid, std::uint64_t cgroup) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid)};
    process.task.cgroup = CgroupId{cgroup};
    return process;
}

void expect_no_descriptor(const Result<MemoryState>& sample) {
    ASSERT_FALSE(sample);
    EXPECT_TRUE(is_out_of_descriptors(sample.error())) << sample.error().message();
    EXPECT_FALSE(is_gone(sample.error())) << sample.error().message();
}

TEST(ProcessTarget, IsMeasuredAtTheSmallestCgroupAroundTheTree) {
    FakeJob job;
    auto sample = job.sample({process(10, 1)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs/a");
    EXPECT_EQ(sample->usage, Bytes{1000});
    sample = job.sample({process(10, 1), process(11, 2)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs");
}

TEST(ProcessTarget, IsMeasuredLaterIfItsFirstSampleFindsNoDescriptor) {
    FakeJob job;
    {
        const FewDescriptors none(room_for(0));
        expect_no_descriptor(job.sample({process(10, 1)}));
    }
    {
        const FewDescriptors few(room_for(2));  // enough for the path, but not for the cgroup with all its ancestors
        expect_no_descriptor(job.sample({process(10, 1)}));
    }
    const auto sample = job.sample({process(10, 1)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs/a") << "and not the root";
}

TEST(ProcessTarget, KeepsItsCgroupIfALaterSampleFindsNoDescriptor) {
    FakeJob job;
    ASSERT_TRUE(job.sample({process(10, 1)}));
    {
        const FewDescriptors none(room_for(0));
        expect_no_descriptor(job.sample({process(10, 1)}));
    }
    const auto sample = job.sample({process(10, 1)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs/a");
}

TEST(ProcessTarget, IsMeasuredAtItsNewCgroupLaterIfItMovesWithoutADescriptor) {
    FakeJob job;
    ASSERT_TRUE(job.sample({process(10, 1)}));
    job.move(10, "jobs/b");
    {
        const FewDescriptors none(room_for(0));
        expect_no_descriptor(job.sample({process(10, 2)}));
    }
    const auto sample = job.sample({process(10, 2)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs/b");
}

TEST(ProcessTarget, StaysWhereItIsIfItsProcessesEndBeforeTheirPathsAreRead) {
    FakeJob job;
    ASSERT_TRUE(job.sample({process(10, 1)}));
    job.tree.remove("proc/11");
    const auto sample = job.sample({process(11, 2)});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->measured_at, "jobs/a");
}

TEST(ProcessTarget, IsNotMeasuredOnceItsProcessesHaveEndedAndTheirCgroupIsGone) {
    FakeJob job;
    ASSERT_TRUE(job.sample({process(10, 1)}));
    job.tree.remove("cg/jobs/a");
    const auto sample = job.sample({});
    ASSERT_FALSE(sample);
    EXPECT_FALSE(is_gone(sample.error())) << "a tree is not removed with its cgroup: it may have moved";
    ASSERT_TRUE(job.sample({process(11, 2)})) << "to another cgroup";
}

}  // namespace process_target_test
}  // namespace memscope
