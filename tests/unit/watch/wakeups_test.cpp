#include "watch/wakeups.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

namespace memscope {
namespace wakeups_test {

// open() blocks signals, and the other tests of this program must not inherit this.
struct WakeupsOfALoop : testing::Test {
    sigset_t before{};
    std::optional<Wakeups> wakeups{};

    void SetUp() override {
        ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
        auto opened = Wakeups::open();
        ASSERT_TRUE(opened);
        wakeups.emplace(*std::move(opened));
    }
    void TearDown() override { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

TEST_F(WakeupsOfALoop, AReminderComesOnceAndTicksContinue) {
    wakeups->remind_in(Seconds{0.01});
    EXPECT_EQ(wakeups->wait(), Wake::reminder);
    ASSERT_TRUE(wakeups->tick_every(Seconds{0.01}));
    EXPECT_EQ(wakeups->wait(), Wake::tick);
    EXPECT_EQ(wakeups->wait(), Wake::tick);
}

TEST_F(WakeupsOfALoop, AReminderForAPastTimeComesAtOnceAndReplacesALaterOne) {
    wakeups->remind_in(Seconds{3600});
    wakeups->remind_in(Seconds{-1});
    EXPECT_EQ(wakeups->wait(), Wake::reminder);
}

TEST_F(WakeupsOfALoop, AReminderComesAfterATickThatIsDueToo) {
    ASSERT_TRUE(wakeups->tick_every(Seconds{0.01}));
    wakeups->remind_in(Seconds{0});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(wakeups->wait(), Wake::tick);
    ASSERT_TRUE(wakeups->tick_every(Seconds{3600}));
    EXPECT_EQ(wakeups->wait(), Wake::reminder);
}

}  // namespace wakeups_test
}  // namespace memscope
