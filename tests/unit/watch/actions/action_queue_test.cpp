#include "watch/actions/action_queue.h"

#include <gmock/gmock.h>

namespace memscope {
namespace action_queue_test {

PendingAction of(const std::string& target) { return {.target = target}; }
constexpr std::size_t kRoom = ActionQueue::kMostAtOnce + ActionQueue::kMostWaiting;

TEST(ActionQueue, RunsFewAtATimeInTheirOrder) {
    ActionQueue queue;
    for (std::size_t i = 0; i < ActionQueue::kMostAtOnce + 1; ++i)
        ASSERT_TRUE(queue.offer(of(std::to_string(i)), Seconds(0)));
    std::vector<std::uint32_t> running;
    while (auto next = queue.next()) {
        EXPECT_EQ(next->target, std::to_string(running.size()));
        running.push_back(next->request.id);
    }
    EXPECT_EQ(running.size(), ActionQueue::kMostAtOnce);
    EXPECT_FALSE(queue.next());
    ASSERT_TRUE(queue.end(running[1]));
    EXPECT_FALSE(queue.end(running[1])) << "an end counts once";
    const auto last = queue.next();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->target, "4");
    EXPECT_FALSE(queue.idle());
}

TEST(ActionQueue, HasABoundedNumberOfPlaces) {
    ActionQueue queue;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < 3 * kRoom; ++i) {
        taken += queue.offer(of(std::to_string(i)), Seconds(0)) ? 1 : 0;
        (void)queue.next();
    }
    EXPECT_EQ(taken, kRoom);
}

TEST(ActionQueue, LimitsTheRateOfOneTarget) {
    ActionQueue queue;
    std::size_t taken = 0;
    for (int second = 0; second < 3600; ++second) {
        if (queue.offer(of("crashes"), Seconds(second))) ++taken;
        while (auto next = queue.next()) (void)queue.end(next->request.id);
    }
    EXPECT_GE(taken, 120);
    EXPECT_LE(taken, 140) << "one in half a minute, after the first few";
    EXPECT_TRUE(queue.offer(of("another"), Seconds(3600))) << "which drives nobody else out";
}

TEST(ActionQueue, LimitsTheRateOfAllTargetsTogether) {
    ActionQueue queue;
    std::size_t taken = 0;
    for (int i = 0; i < 1000; ++i) {
        if (queue.offer(of(std::to_string(i)), Seconds(0))) ++taken;
        while (auto next = queue.next()) (void)queue.end(next->request.id);
    }
    EXPECT_EQ(taken, 40);
}

TEST(ActionQueue, GiveUpReturnsAllActionsThatHaveNotEnded) {
    ActionQueue queue;
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(queue.offer(of("a"), Seconds(0)));
    (void)queue.next();
    EXPECT_EQ(queue.give_up().size(), 6);
    EXPECT_TRUE(queue.idle());
}

}  // namespace action_queue_test
}  // namespace memscope
