#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace memscope {
namespace fd_test {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_something() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(Fd, ClosesAtItsEnd) {
    const int raw = open_something();
    {
        const Fd fd(raw);
        EXPECT_TRUE(fd);
        EXPECT_TRUE(is_open(raw));
    }
    EXPECT_FALSE(is_open(raw));
}

TEST(Fd, MovesOwnership) {
    Fd first(open_something());
    const int raw = first.get();
    const Fd second(std::move(first));
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), raw);
    EXPECT_TRUE(is_open(raw));
}

TEST(Fd, ClosesTheOldOneOnAssignment) {
    Fd fd(open_something());
    const int old = fd.get();
    const int other = open_something();
    fd = Fd(other);
    EXPECT_EQ(fd.get(), other);
    EXPECT_FALSE(is_open(old));
    EXPECT_TRUE(is_open(other));
}

TEST(Fd, SurvivesAssignmentToItself) {
    Fd fd(open_something());
    const int raw = fd.get();
    Fd& same = fd;
    fd = std::move(same);
    EXPECT_EQ(fd.get(), raw);
    EXPECT_TRUE(is_open(raw));
}

TEST(Fd, GivesItsDescriptorAwayOnRelease) {
    Fd fd(open_something());
    const int raw = fd.release();
    EXPECT_FALSE(fd);
    EXPECT_TRUE(is_open(raw));
    ::close(raw);
}

TEST(Fd, IsFalseWithoutADescriptor) { EXPECT_FALSE(Fd()); }

}  // namespace fd_test
}  // namespace memscope
