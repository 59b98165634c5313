#include <gtest/gtest.h>

#include "sources/proc/mountinfo.h"

namespace memscope {
namespace {

TEST(DeviceMounts, AreFoundByTheNumberOfTheirFileSystem) {
    const std::vector<Mount> mounts = {{.device = "0:25", .point = "/dev/shm"}, {.device = "259:1", .point = "/data"}};
    EXPECT_EQ(mount_of_device(mounts, 25), "/dev/shm");
    EXPECT_EQ(mount_of_device(mounts, (259U << 20U) | 1U), "/data");
    EXPECT_EQ(mount_of_device(mounts, 26), "");
    EXPECT_EQ(mount_of_device({}, 0), "");
}

}  // namespace
}  // namespace memscope
