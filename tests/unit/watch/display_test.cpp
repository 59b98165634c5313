#include "watch/display.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "watch/clock.h"

namespace memscope {
namespace display_test {

struct Pipe {
    Pipe() {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        read = Fd(ends[0]);
        write = Fd(ends[1]);
    }
    void fill() const {
        ::fcntl(write.get(), F_SETFL, O_NONBLOCK);
        const std::string bytes(4096, 'x');
        while (::write(write.get(), bytes.data(), bytes.size()) > 0) {
        }
    }
    Fd read;
    Fd write;
};

// A display whose standard output and standard error are pipes that nobody reads.
TEST(Display, WaitsForBothStreamsTogetherAtTheEnd) {
    const Pipe output, messages;
    auto stream = LineStream::open(output.write.get());
    ASSERT_TRUE(stream);
    const WatchOptions options;
    const Fd standard_error(::dup(STDERR_FILENO));
    ::dup2(messages.write.get(), STDERR_FILENO);
    Display display(options, std::optional(std::move(*stream)), std::nullopt);
    ::dup2(standard_error.get(), STDERR_FILENO);
    output.fill();
    messages.fill();
    display.notify({"a line"});
    display.warn(plain_error("a message"));
    const Seconds began = boot_time();
    display.finish(Seconds{1});
    const Seconds took = boot_time() - began;
    EXPECT_GE(took, Seconds{0.9});
    EXPECT_LT(took, Seconds{1.9});
}

}  // namespace display_test
}  // namespace memscope
