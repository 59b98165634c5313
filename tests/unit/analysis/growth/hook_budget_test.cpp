#include "analysis/growth/hook_budget.h"

#include <gtest/gtest.h>

namespace memscope {
namespace hook_budget_test {

using Advice = HookBudget::Advice;

auto used(Seconds time) {
    return [time] { return time; };
}

// One minute with that cost of the hook, for processes that use one CPU.
Advice window(HookBudget& budget, double& now, double& hook, double cost) {
    Advice advice = Advice::stay;
    for (int second = 0; second < 61 && advice == Advice::stay; ++second) {
        now += 1;
        hook += cost;
        advice = budget.consider(Seconds{now}, Seconds{hook}, used(Seconds{now}));
    }
    return advice;
}

TEST(HookBudget, LetsAHookStayThatCostsLessThanItsShare) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(window(budget, now, hook, 0.009), Advice::stay);
}

TEST(HookBudget, DetachesAnExpensiveHookForAMinute) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    EXPECT_EQ(window(budget, now, hook, 0.02), Advice::detach);
    EXPECT_TRUE(budget.is_off());
    EXPECT_EQ(budget.consider(Seconds{now + 59}, Seconds{hook}, used(Seconds{now + 59})), Advice::stay);
    EXPECT_EQ(budget.consider(Seconds{now + 60}, Seconds{hook}, used(Seconds{now + 60})), Advice::attach);
    EXPECT_FALSE(budget.is_off());
}

TEST(HookBudget, DetachesAVeryExpensiveHookBeforeTheEndOfTheWindow) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    EXPECT_EQ(window(budget, now, hook, 0.1), Advice::detach);
    // The hook costs 0.1 s per second. After 6 s it has cost 0.6 s, which is 1 % of the CPU time of a minute.
    EXPECT_GE(now, 6);
    EXPECT_LE(now, 8);
}

TEST(HookBudget, LetsAHookStayThatCostsMuchInAShortBurst) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    for (int second = 0; second < 300; ++second) {
        now += 1;
        hook += second % 60 == 30 ? 0.2 : 0.001;
        EXPECT_EQ(budget.consider(Seconds{now}, Seconds{hook}, used(Seconds{now})), Advice::stay);
    }
}

TEST(HookBudget, PausesLongerEachTimeUpToTenMinutes) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    for (const double pause : {60., 120., 240., 480., 600., 600.}) {
        ASSERT_EQ(window(budget, now, hook, 0.02), Advice::detach);
        EXPECT_EQ(budget.consider(Seconds{now + pause - 1}, Seconds{hook}, used(Seconds{now})), Advice::stay);
        now += pause;
        EXPECT_EQ(budget.consider(Seconds{now}, Seconds{hook}, used(Seconds{now})), Advice::attach);
    }
}

TEST(HookBudget, IgnoresTinyCostsOfIdleProcesses) {
    HookBudget budget(0.01, Seconds{60});
    double now = 0;
    double hook = 0;
    for (int i = 0; i < 100; ++i) {
        now += 1;
        hook += 0.0008;
        EXPECT_EQ(budget.consider(Seconds{now}, Seconds{hook}, used(Seconds{0})), Advice::stay)
            << "they use no CPU at all";
    }
}

TEST(HookBudget, KeepsAHookWhenTheSummedCpuTimeFalls) {
    HookBudget budget(0.01, Seconds{60});
    EXPECT_EQ(budget.consider(Seconds{1}, Seconds{0}, used(Seconds{1000})), Advice::stay);
    EXPECT_EQ(budget.consider(Seconds{62}, Seconds{0.04}, used(Seconds{10})), Advice::stay);
    EXPECT_EQ(budget.consider(Seconds{124}, Seconds{0.4}, used(Seconds{70})), Advice::stay);
}

}  // namespace hook_budget_test
}  // namespace memscope
