#include <gtest/gtest.h>

#include "sources/proc/mountinfo.h"
#include "support/fake_tree.h"

namespace memscope {
namespace mountinfo_devices_test {

TEST(DeviceMounts, AreFoundByTheNumberOfTheirFileSystem) {
    const std::vector<Mount> mounts = {{.device = "0:25", .point = "/dev/shm"}, {.device = "259:1", .point = "/data"}};
    EXPECT_EQ(mount_of_device(mounts, 25), "/dev/shm");
    EXPECT_EQ(mount_of_device(mounts, (259U << 20U) | 1U), "/data");
    EXPECT_EQ(mount_of_device(mounts, 26), "");
    EXPECT_EQ(mount_of_device({}, 0), "");
}

TEST(DeviceMounts, AreFoundBehindThoseOfThousandsOfContainers) {
    std::string text;
    while (text.size() < std::size_t{2} << 20) text += "9 1 0:9 / /" + std::string(1000, 'x') + " rw - overlay o rw\n";
    const FakeTree tree{{"proc/42/mountinfo", text + "27 26 0:25 / /dev/shm rw - tmpfs tmpfs rw\n"}};
    EXPECT_EQ(mount_of_device(tree.root(), 25, {42}), "/dev/shm");
}

}  // namespace mountinfo_devices_test
}  // namespace memscope
