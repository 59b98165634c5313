#include <gtest/gtest.h>

#include "outputs/http/routes.h"
#include "watch/self/pulse.h"

namespace memscope {
namespace pulse_heartbeat_test {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(Heartbeat, HasNoTroubleWhileTicksContinue) {
    Heartbeat heart(Seconds{1});
    for (std::uint64_t second = 1; second < 100; ++second) {
        heart.beat(second * kSecond);
        EXPECT_FALSE(heart.trouble(second * kSecond + 9 * kSecond));
    }
}

TEST(Heartbeat, SaysForHowLongTicksHaveStopped) {
    Heartbeat heart(Seconds{1});
    heart.beat(100 * kSecond);
    EXPECT_FALSE(heart.trouble(109 * kSecond));
    EXPECT_EQ(heart.trouble(112 * kSecond), "memscope has not measured anything for 12 s: its ticks have stopped");
    heart.beat(113 * kSecond);
    EXPECT_FALSE(heart.trouble(114 * kSecond)) << "they go on";
}

TEST(Heartbeat, AllowsLongerPausesForLongIntervals) {
    Heartbeat heart(Seconds{60});
    heart.beat(1000 * kSecond);
    EXPECT_FALSE(heart.trouble(1299 * kSecond));
    EXPECT_TRUE(heart.trouble(1301 * kSecond));
}

TEST(Heartbeat, HasNoTroubleBeforeTheFirstTickOrAfterTheLast) {
    Heartbeat heart(Seconds{1});
    EXPECT_FALSE(heart.trouble(1000 * kSecond));
    heart.beat(1000 * kSecond);
    heart.rest();
    EXPECT_FALSE(heart.trouble(5000 * kSecond));
}

TEST(Healthy, FailsWithASentenceWhenTicksHaveStopped) {
    LatestSnapshot latest_snapshot;
    Heartbeat heart(Seconds{1});
    std::uint64_t now = 1000 * kSecond;
    const HttpHandler routes =
        make_routes(latest_snapshot, {.status = false, .growth = {}, .trouble = [&] { return heart.trouble(now); }});
    heart.beat(now);
    EXPECT_EQ(routes({.path = "/-/healthy"}).status, 200);
    EXPECT_EQ(routes({.path = "/-/healthy"}).body, "ok\n");
    now += 30 * kSecond;
    const HttpResponse late = routes({.path = "/-/healthy"});
    EXPECT_EQ(late.status, 503);
    EXPECT_EQ(late.body, "memscope has not measured anything for 30 s: its ticks have stopped\n");
}

}  // namespace pulse_heartbeat_test
}  // namespace memscope
