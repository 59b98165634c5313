#include "sources/cgroup/cgroup_hierarchy.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace cgroup_hierarchy_test {

constexpr auto kNever = [](const fs::path&) { return false; };
constexpr auto kAlways = [](const fs::path&) { return true; };

constexpr const char* kV1 =
    "29 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "33 25 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "37 33 0:34 / /sys/fs/cgroup/memory rw,relatime shared:15 - cgroup cgroup rw,memory\n";
constexpr const char* kUnified = "43 33 0:40 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(Mountinfo, TakesEscapesOutAndSkipsOptionalFields) {
    const auto mounts = parse_mountinfo(
        "36 35 98:0 /a\\040b /mnt/\\134x\\011y\\012 rw shared:1 master:2 - ext3 /dev/root rw,errors=x\n");
    ASSERT_EQ(mounts.size(), 1U);
    EXPECT_EQ(mounts[0].id, 36);
    EXPECT_EQ(mounts[0].parent, 35);
    EXPECT_EQ(mounts[0].device, "98:0");
    EXPECT_EQ(mounts[0].root, "/a b");
    EXPECT_EQ(mounts[0].point, "/mnt/\\x\ty\n");
    EXPECT_EQ(mounts[0].type, "ext3");
    EXPECT_EQ(mounts[0].super_options, "rw,errors=x");
}

TEST(Mountinfo, LeavesOutWhatItDoesNotUnderstand) {
    EXPECT_TRUE(parse_mountinfo("").empty());
    EXPECT_TRUE(parse_mountinfo("garbage\n\n1 2 3\n").empty());
    EXPECT_TRUE(parse_mountinfo("36 35 98:0 / /mnt rw shared:1 ext3 /dev/root rw\n").empty()) << "no dash";
    EXPECT_TRUE(parse_mountinfo("36 35 98:0 / /mnt rw -\n").empty()) << "no fields after the dash";
    EXPECT_TRUE(parse_mountinfo("x 35 98:0 / /mnt rw - ext3 a b\n").empty());
}

TEST(Hierarchy, IsTheV1MountWithMemory) {
    const auto found = choose_hierarchy(parse_mountinfo(kV1), kNever);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->version, 1);
    EXPECT_EQ(found->mount, "/sys/fs/cgroup/memory");
    EXPECT_FALSE(found->hybrid);
}

TEST(Hierarchy, IsV1OnAHybridMachineWhoseV2HasNoMemory) {
    const auto found = choose_hierarchy(parse_mountinfo(std::string(kV1) + kUnified), kNever);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->version, 1);
    EXPECT_TRUE(found->hybrid);
}

TEST(Hierarchy, IsV2WhereItsControllersListMemory) {
    const auto found =
        choose_hierarchy(parse_mountinfo("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), kAlways);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->version, 2);
    EXPECT_EQ(found->mount, "/sys/fs/cgroup");
    EXPECT_FALSE(found->hybrid);
}

TEST(Hierarchy, PrefersAMountOfTheWholeButTakesAPart) {
    const std::string part = "40 33 0:34 /docker/abc /part rw - cgroup cgroup rw,memory\n";
    EXPECT_EQ(choose_hierarchy(parse_mountinfo(part + kV1), kNever)->mount, "/sys/fs/cgroup/memory");
    EXPECT_EQ(choose_hierarchy(parse_mountinfo(part), kNever)->mount, "/part");
}

TEST(Hierarchy, DoesNotTakeAnOptionThatOnlyContainsTheWord) {
    EXPECT_FALSE(
        choose_hierarchy(parse_mountinfo("37 33 0:34 / /m rw - cgroup cgroup rw,name=memory,memory2\n"), kNever));
}

TEST(Hierarchy, SaysWhatToDoWithoutMemoryController) {
    const auto off = choose_hierarchy(parse_mountinfo(kUnified), kNever);
    ASSERT_FALSE(off);
    EXPECT_NE(off.error().message().find("no memory controller"), std::string::npos);
    EXPECT_NE(off.error().message().find("cgroup_enable=memory"), std::string::npos);
    const auto none = choose_hierarchy({}, kNever);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find("mount -t cgroup2"), std::string::npos);
}

TEST(Hierarchy, IsReadFromTheProcOfTheRoot) {
    FakeTree tree{{"cg two/cgroup.controllers", "cpuset cpu io memory pids\n"}};
    std::string point = tree.at("cg two").native();
    point.replace(point.find(' '), 1, "\\040");
    tree.write("proc/self/mountinfo", "30 25 0:26 / " + point + " rw - cgroup2 cgroup2 rw\n");
    const auto found = find_hierarchy(tree.root());
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->version, 2);
    EXPECT_EQ(found->mount, tree.at("cg two"));

    tree.write("cg two/cgroup.controllers", "cpuset cpu hugememory\n");
    EXPECT_FALSE(find_hierarchy(tree.root()));
}

TEST(Hierarchy, SaysIfTheListOfMountsWasTooLong) {
    FakeTree tree;
    std::string text;
    while (text.size() < kMountinfoLimit) text += "9 1 0:9 / /" + std::string(1000, 'x') + " rw - overlay o rw\n";
    tree.write("proc/self/mountinfo", text + "30 25 0:26 / /cgroup rw - cgroup cgroup rw,memory\n");
    EXPECT_NE(find_hierarchy(tree.root()).error().message().find("16 MiB"), std::string::npos);
    tree.write("proc/self/mountinfo", "30 25 0:26 / /cgroup rw - cgroup cgroup rw,memory\n" + text);
    EXPECT_TRUE(find_hierarchy(tree.root())) << "found before the limit";
}

TEST(Hierarchy, CannotBeFoundWithoutProc) {
    FakeTree tree;
    EXPECT_FALSE(find_hierarchy(tree.root()));
}

}  // namespace cgroup_hierarchy_test
}  // namespace memscope
