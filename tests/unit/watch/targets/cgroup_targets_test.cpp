#include "watch/targets/cgroup_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"
#include "support/few_descriptors.h"
#include "watch/targets/target_state.h"

namespace memscope {
namespace cgroup_targets_test {

using testing::IsEmpty;
using testing::SizeIs;

struct FakeHierarchy {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    CgroupHierarchy hierarchy{.version = 2, .mount = tree.at("cg")};

    void make(const std::string& path) {
        tree.write("cg/" + path + "/cgroup.procs", "");
        tree.write("cg/" + path + "/memory.current", "0\n");
    }
    std::unique_ptr<CgroupTargets> open(const std::vector<std::string>& typed, bool wait = false) {
        auto set = CgroupTargets::open(hierarchy, typed, wait);
        EXPECT_TRUE(set) << set.error().message();
        return std::move(*set);
    }
};

// Adds and drops the targets that a refresh returns.
TargetSource::Changes refresh(const std::unique_ptr<CgroupTargets>& set, WatchedTargets& targets) {
    auto changes = set->refresh();
    for (const CgroupId id : changes.removed) targets.drop(id);
    for (NewTarget& target : changes.added) targets.add(std::move(target));
    return changes;
}

std::vector<std::string> names(const WatchedTargets& targets) {
    std::vector<std::string> found;
    for (const auto& [id, target] : targets.all()) found.push_back(target.info.name);
    std::sort(found.begin(), found.end());
    return found;
}

TEST(CgroupTargets, APlainNameMustExistUnlessItIsWaitedFor) {
    FakeHierarchy fake;
    EXPECT_FALSE(CgroupTargets::open(fake.hierarchy, {"train"}, false));
    const auto set = fake.open({"train"}, true);
    EXPECT_THAT(set->refresh().added, IsEmpty());
    EXPECT_FALSE(set->finished(0));
    fake.make("train");
    EXPECT_THAT(set->refresh().added, SizeIs(1));
    fake.tree.remove("cg/train");
    EXPECT_THAT(set->refresh().removed, SizeIs(1));
    EXPECT_TRUE(set->finished(0));
}

TEST(CgroupTargets, ABadNameIsRefusedEvenWithWait) {
    FakeHierarchy fake;
    EXPECT_FALSE(CgroupTargets::open(fake.hierarchy, {"a/../b"}, true));
    EXPECT_FALSE(CgroupTargets::open(fake.hierarchy, {"a\nb"}, true));
}

TEST(CgroupTargets, NestsTargetsInAnyOrder) {
    FakeHierarchy fake;
    fake.make("a");
    fake.make("a/b");
    fake.make("a/b/c");
    fake.make("ab");  // not inside a
    const auto set = fake.open({"a/b/c", "ab", "a"});
    WatchedTargets targets;
    refresh(set, targets);
    CgroupId outer{}, inner{}, aside{};
    for (const auto& [id, target] : targets.all()) {
        if (target.info.name == "a") outer = id;
        if (target.info.name == "a/b/c") inner = id;
        if (target.info.name == "ab") aside = id;
    }
    EXPECT_THAT(targets.nesting().around(inner), testing::ElementsAre(inner, outer));
    EXPECT_THAT(targets.nesting().around(aside), testing::ElementsAre(aside));
}

TEST(CgroupTargets, TheRootIsCalledSlash) {
    FakeHierarchy fake;
    const auto set = fake.open({"/"});
    WatchedTargets targets;
    refresh(set, targets);
    EXPECT_THAT(names(targets), testing::ElementsAre("/"));
}

TEST(CgroupTargets, AGlobNeverFinishes) {
    FakeHierarchy fake;
    fake.make("jobs/job_1");
    const auto set = fake.open({"jobs/job_*"});
    WatchedTargets targets;
    EXPECT_THAT(refresh(set, targets).added, SizeIs(1));
    fake.make("jobs/job_2");
    fake.make("jobs/other");
    EXPECT_THAT(refresh(set, targets).added, SizeIs(1));
    EXPECT_THAT(names(targets), testing::ElementsAre("jobs/job_1", "jobs/job_2"));
    fake.tree.remove("cg/jobs");
    EXPECT_THAT(refresh(set, targets).removed, SizeIs(2));
    EXPECT_FALSE(set->finished(0));
}

TEST(CgroupTargets, TwoNamesOfOneCgroupAreOneTarget) {
    FakeHierarchy fake;
    fake.make("jobs/a");
    const auto set = fake.open({"jobs/a", "jobs/*", "/jobs/a"});
    EXPECT_THAT(set->refresh().added, SizeIs(1));
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(CgroupTargets, ATargetKeepsOneDescriptorAndItsAncestorsAreShared) {
    FakeHierarchy fake;
    for (int i = 0; i < 20; ++i) fake.make("jobs/user/job_" + std::to_string(i));
    const std::size_t before = open_descriptors();
    const auto set = fake.open({"jobs/user/*"});
    WatchedTargets targets;
    ASSERT_THAT(refresh(set, targets).added, SizeIs(20));
    EXPECT_EQ(open_descriptors() - before, 20U + 3) << "the root, jobs and jobs/user are open once";
    fake.tree.remove("cg/jobs");
    EXPECT_THAT(refresh(set, targets).removed, SizeIs(20));
    EXPECT_EQ(open_descriptors(), before);
}

TEST(CgroupTargets, CgroupsThatFindNoDescriptorAreCountedAndAddedOnceThereIsRoom) {
    FakeHierarchy fake;
    for (int i = 0; i < 100; ++i) fake.make("jobs/job_" + std::to_string(i));
    const auto set = fake.open({"jobs/*"});
    WatchedTargets targets;
    std::size_t added = 0;
    {
        const FewDescriptors few(80);
        const auto changes = refresh(set, targets);
        added = changes.added.size();
        EXPECT_GT(added, 20U);
        EXPECT_EQ(added + changes.no_descriptor, 100U);
        const auto again = refresh(set, targets);
        EXPECT_THAT(again.removed, testing::IsEmpty()) << "those that are watched are not gone";
        EXPECT_EQ(again.no_descriptor, 100 - added);
        EXPECT_LE(open_descriptors(), 80U - 80 / 8 + 1) << "an eighth is left for reading files";
    }
    const auto later = refresh(set, targets);
    EXPECT_EQ(later.added.size(), 100 - added);
    EXPECT_EQ(later.no_descriptor, 0U);
}

TEST(CgroupTargets, AWalkThatRunsOutOfDescriptorsIsCounted) {
    FakeHierarchy fake;
    fake.make("job_1");
    const auto set = fake.open({"job_*"});
    const FewDescriptors few(room_for(1));  // for the root, and none for the cgroups below it
    EXPECT_EQ(set->refresh().no_descriptor, 1U);
}

TEST(CgroupTargets, APlainNameThatFindsNoDescriptorIsCounted) {
    FakeHierarchy fake;
    fake.make("job");
    const auto set = fake.open({"job"});
    const FewDescriptors none(room_for(0));
    EXPECT_EQ(set->refresh().no_descriptor, 1U);
    EXPECT_FALSE(set->finished(0)) << "its cgroup is there";
}

// Opening a cgroup needs a descriptor for each of its ancestors at the same time: one more than the search of its
// parent needed.
TEST(CgroupTargets, ACgroupThatIsFoundButCannotBeOpenedIsCounted) {
    FakeHierarchy fake;
    fake.make("a/b/c/d/e/job");
    const auto set = fake.open({"a/b/c/d/e/*"});
    {
        const FewDescriptors few(room_for(6));  // the root and five more
        const auto changes = set->refresh();
        EXPECT_THAT(changes.added, IsEmpty());
        EXPECT_EQ(changes.no_descriptor, 1U);
    }
    EXPECT_THAT(set->refresh().added, SizeIs(1));
}

TEST(CgroupTargets, ASampleThatFindsNoDescriptorDoesNotMeanThatTheCgroupIsGone) {
    FakeHierarchy fake;
    fake.make("job");
    fake.tree.add({{"cg/job/memory.stat", "anon 0\nfile 0\nkernel 0\n"},
                   {"cg/job/memory.max", "max\n"},
                   {"cg/job/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"}});
    const auto set = fake.open({"job"});
    const auto changes = set->refresh();
    ASSERT_THAT(changes.added, SizeIs(1));
    const std::unique_ptr<TargetMemory>& memory = changes.added.front().memory;
    ASSERT_TRUE(memory->sample({}, {})) << memory->sample({}, {}).error().message();
    {
        const FewDescriptors none(room_for(0));
        const auto sample = memory->sample({}, {});
        ASSERT_FALSE(sample);
        EXPECT_TRUE(is_out_of_descriptors(sample.error())) << sample.error().message();
        EXPECT_FALSE(is_gone(sample.error())) << sample.error().message();
        EXPECT_THAT(set->refresh().removed, IsEmpty());
    }
    EXPECT_TRUE(memory->sample({}, {}));
}

TEST(CgroupTargets, ASearchThatFindsNoDescriptorIsCounted) {
    FakeHierarchy fake;
    fake.make("jobs/job_1");
    const auto set = fake.open({"jobs/*"});
    const FewDescriptors none(3);
    EXPECT_EQ(set->refresh().no_descriptor, 1U);
}

}  // namespace cgroup_targets_test
}  // namespace memscope
