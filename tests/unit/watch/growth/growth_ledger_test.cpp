#include "watch/growth/growth_ledger.h"

#include <gtest/gtest.h>

namespace memscope {
namespace growth_ledger_test {

ProcessId process(pid_t pid) { return {.pid = pid, .start_ns = 1}; }

EndedGrowth held(std::int64_t bytes, Seconds at = Seconds(1)) {
    return {.at = at, .resident = {{.site = std::make_shared<const CallSite>(), .bytes = bytes}}};
}

// A machine on which many short processes end while a death report is written.
TEST(EndedProcesses, KeepsTheProcessesThatHeldMost) {
    EndedProcesses ended;
    const auto end_short_ones = [&](pid_t first) {
        for (pid_t pid = first; pid < first + 1000; ++pid)
            ended.keep(process(pid), pid % 2 == 0 ? held(4096) : EndedGrowth{.at = Seconds(1)});
    };
    end_short_ones(1000);
    ended.keep(process(7), held(1 << 30));
    end_short_ones(2000);
    EXPECT_EQ(ended.all().size(), EndedProcesses::kMost);
    ASSERT_TRUE(ended.find(process(7)));
    EXPECT_EQ(ended.find(process(7))->at_stacks(), 1 << 30);
}

TEST(EndedProcesses, AreKeptWithoutGrowthIfThereIsRoom) {
    EndedProcesses ended;
    ended.keep(process(7), {.at = Seconds(1), .start_bytes = 5});
    ASSERT_TRUE(ended.find(process(7)));
    EXPECT_EQ(ended.find(process(7))->start_bytes, 5);
}

TEST(EndedProcesses, AreForgottenAfterAWhile) {
    EndedProcesses ended;
    ended.keep(process(7), held(1 << 20, Seconds(1)));
    ended.keep(process(8), held(1 << 20, Seconds(2)));
    ended.forget_before(Seconds(2));
    EXPECT_FALSE(ended.find(process(7)));
    EXPECT_TRUE(ended.find(process(8)));
}

TEST(EndedProcesses, AtStacksSumsAllPlanes) {
    const std::vector<SiteGrowth> sites{{.site = std::make_shared<const CallSite>(), .bytes = 10}};
    const EndedGrowth growth{.resident = sites, .mapped = sites, .tensors_host = sites, .unknown_resident = 3};
    EXPECT_EQ(growth.at_stacks(), 33);
}

}  // namespace growth_ledger_test
}  // namespace memscope
