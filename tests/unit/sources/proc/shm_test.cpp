#include "sources/proc/shm.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace shm_test {

const std::string kRoot = "29 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";
const std::string kDev = "26 29 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=1k\n";
const std::string kShm = "27 26 0:25 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=64k\n";

std::optional<std::string> device(const std::string& text) { return safe_shm_device(parse_mountinfo(text)); }

TEST(ShmDevice, IsTheTmpfsOnDevShm) {
    EXPECT_EQ(device(kRoot + kDev + kShm), "0:25");
    EXPECT_EQ(device(kShm + kDev + kRoot), "0:25") << "the order of the lines does not matter";
    EXPECT_EQ(device("29 1 0:50 / / rw - overlay overlay rw\n27 29 0:25 / /dev/shm rw - tmpfs shm rw\n"), "0:25");
}

TEST(ShmDevice, IsTheTopmostOfStackedMounts) {
    EXPECT_EQ(device(kRoot + kDev + kShm + "32 27 0:29 / /dev/shm rw - tmpfs tmpfs rw\n"), "0:29");
    EXPECT_EQ(device(kRoot + kDev + kShm +
                     "40 26 0:40 / /dev/shm rw - tmpfs tmpfs rw\n32 29 0:33 / /other rw - tmpfs t rw\n"),
              "0:25");
    EXPECT_EQ(device(kRoot + kDev + kShm + "50 26 0:60 / /dev rw - tmpfs tmpfs rw\n"), "0:60")
        << "the old /dev/shm is covered";
}

TEST(ShmDevice, MayBeADirectoryOfATmpfsDev) {
    EXPECT_EQ(device(kRoot + "26 29 0:7 / /dev rw - tmpfs tmpfs rw\n"), "0:7");
    EXPECT_EQ(device(kRoot + kDev), "0:6");
}

TEST(ShmDevice, IsUnknownOnADisk) {
    EXPECT_FALSE(device(kRoot));
    EXPECT_FALSE(device(kRoot + kDev + "27 26 8:1 / /dev/shm rw - ext4 /dev/sda rw\n"));
}

TEST(ShmDevice, IsUnknownBehindNetworkAndFuseFileSystems) {
    for (const char* type : {"fuse", "fuse.sshfs", "nfs", "nfs4", "9p", "cifs", "virtiofs", "unheard-of"}) {
        const std::string mounted = std::string(" rw - ") + type + " server rw\n";
        EXPECT_FALSE(device("29 1 0:1 / /" + mounted + kDev + kShm)) << "root on " << type;
        EXPECT_FALSE(device(kRoot + "26 29 0:6 / /dev" + mounted + kShm)) << "/dev on " << type;
        EXPECT_FALSE(device(kRoot + kDev + "27 26 0:9 / /dev/shm" + mounted)) << "/dev/shm on " << type;
        EXPECT_FALSE(device(kRoot + kDev + "32 27 0:9 / /dev/shm" + mounted + kShm)) << type << " on top, listed first";
    }
}

TEST(ShmDevice, IsUnknownWithoutAUniqueRoot) {
    EXPECT_FALSE(device(""));
    EXPECT_FALSE(device(kDev + kShm)) << "a root that is no mount point is not listed";
    EXPECT_FALSE(device(kRoot + "28 1 0:1 / / rw - ext4 a rw\n" + kDev + kShm)) << "two roots";
    EXPECT_FALSE(device("5 6 0:1 / / rw - ext4 a rw\n6 5 0:1 / / rw - ext4 a rw\n")) << "a cycle";
    EXPECT_FALSE(device(kRoot + "26 29 0:6 / /dev rw - tmpfs a rw\n27 26 0:1 / /dev/shm rw - tmpfs a rw\n"
                                "28 27 0:1 / /dev/shm rw - tmpfs a rw\n27 28 0:1 / /dev/shm rw - tmpfs a rw\n"));
}

TEST(ShmDevice, IgnoresMountsOverTheRootOfTheProcess) {
    const std::string over = "60 29 0:99 / / rw - fuse over rw\n";
    EXPECT_EQ(device(kRoot + kDev + kShm + over), "0:25");
}

TEST(ShmUsageOf, CountsBlocks) {
    const auto usage = shm_usage(100, 30, 4096);
    EXPECT_EQ(usage->used, Bytes{70 * 4096});
    EXPECT_EQ(usage->size, Bytes{100 * 4096});
    EXPECT_FALSE(shm_usage(0, 0, 4096)) << "no size limit";
    EXPECT_EQ(shm_usage(10, 20, 1)->used, Bytes{0});
}

TEST(ShmUsageOf, IsComparedByShare) {
    EXPECT_TRUE(is_fuller({Bytes{9}, Bytes{10}}, {Bytes{50}, Bytes{100}}));
    EXPECT_FALSE(is_fuller({Bytes{50}, Bytes{100}}, {Bytes{9}, Bytes{10}}));
}

TEST(FullestShm, OfThisProcessAgreesWithStatvfs) {
    const auto text = read_file("/proc/self/mountinfo");
    ASSERT_TRUE(text && device(*text)) << "no plain tmpfs on /dev/shm here";
    struct statvfs status{};
    ASSERT_EQ(::statvfs("/dev/shm", &status), 0);
    const auto usage = *fullest_shm({}, {{1, ::getpid()}});
    ASSERT_TRUE(usage);
    EXPECT_EQ(usage->size, Bytes{status.f_blocks * status.f_bsize});
}

// Mounts of containers, each of about 1 kB. They say nothing about /dev/shm.
std::string overlays(std::size_t bytes) {
    const std::string layers(1000, 'l');
    std::string text;
    for (int id = 1000; text.size() < bytes; ++id)
        text += std::to_string(id) + " 29 0:50 / /run/containers/" + std::to_string(id) + " rw - overlay overlay rw," +
                layers + "\n";
    return text;
}

TEST(FullestShm, IsFoundAmongTheMountsOfThousandsOfContainers) {
    const auto text = read_file("/proc/self/mountinfo");
    ASSERT_TRUE(text && device(*text)) << "no plain tmpfs on /dev/shm here";
    FakeTree tree{{"proc/42/mountinfo", overlays(std::size_t{2} << 20) + *text}};
    fs::create_directory_symlink("/", tree.at("proc/42/root"));
    EXPECT_TRUE(*fullest_shm(tree.root(), {{1, 42}}));
}

TEST(FullestShm, IsAnErrorIfTheListOfMountsIsTooLong) {
    const auto text = read_file("/proc/self/mountinfo");
    ASSERT_TRUE(text);
    FakeTree tree{{"proc/42/mountinfo", *text + overlays(kMountinfoLimit)}};
    fs::create_directory_symlink("/", tree.at("proc/42/root"));
    const auto usage = fullest_shm(tree.root(), {{1, 42}});
    ASSERT_FALSE(usage);
    EXPECT_NE(usage.error().message().find("too long"), std::string::npos);
}

TEST(FullestShm, IsUnknownForEndedProcesses) {
    FakeTree tree;
    EXPECT_FALSE(*fullest_shm(tree.root(), {{1, 42}, {2, 43}}));
    EXPECT_FALSE(*fullest_shm({}, {}));
}

TEST(FullestShm, DoesNotOpenPathsOnFuseMounts) {
    FakeTree tree{{"proc/42/mountinfo", "29 1 0:1 / / rw - fuse server rw\n" + kDev + kShm}};
    fs::create_directory_symlink("/", tree.at("proc/42/root"));
    EXPECT_FALSE(*fullest_shm(tree.root(), {{1, 42}}));
}

TEST(FullestShm, RefusesAnotherDeviceThanMountinfoNames) {
    // mountinfo shows device 4095:77 on /dev/shm, but the directory is on another device.
    FakeTree tree{{"proc/42/mountinfo", kRoot + kDev + "27 26 4095:77 / /dev/shm rw - tmpfs tmpfs rw\n"}};
    fs::create_directory_symlink("/", tree.at("proc/42/root"));
    EXPECT_FALSE(*fullest_shm(tree.root(), {{1, 42}}));
}

}  // namespace shm_test
}  // namespace memscope
