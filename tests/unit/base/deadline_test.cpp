#include "base/deadline.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>

namespace memscope {
namespace deadline_test {

struct Pipe {
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        out = Fd(ends[0]);
        in = Fd(ends[1]);
    }
    Fd out{};
    Fd in{};
};

TEST(Deadline, ReportsADescriptorThatIsReady) {
    const Pipe pipe;
    const auto deadline = Deadline::in(Seconds{60});
    ASSERT_TRUE(deadline);
    ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
    EXPECT_EQ(deadline->wait_for(pipe.out.get(), POLLIN), Deadline::Wait::ready);
}

TEST(Deadline, ExpiresIfNothingArrives) {
    const Pipe pipe;
    const auto deadline = Deadline::in(Seconds{0});
    ASSERT_TRUE(deadline);
    EXPECT_EQ(deadline->wait_for(pipe.out.get(), POLLIN), Deadline::Wait::expired);
}

TEST(Deadline, ExpiresAlsoIfTheDescriptorIsAlwaysReady) {
    const Pipe pipe;
    const auto deadline = Deadline::in(Seconds{0.001});
    ASSERT_TRUE(deadline);
    ASSERT_EQ(::write(pipe.in.get(), "x", 1), 1);
    while (deadline->wait_for(pipe.out.get(), POLLIN) == Deadline::Wait::ready) {
    }
    EXPECT_EQ(deadline->wait_for(pipe.out.get(), POLLIN), Deadline::Wait::expired);
}

}  // namespace deadline_test
}  // namespace memscope
