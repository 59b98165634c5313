#include <gtest/gtest.h>

#include "sources/python/python_finder.h"

namespace memscope {
namespace python_finder_threads_test {

TEST(OwnPid, IsThePidInTheInnermostNamespace) {
    EXPECT_EQ(parse_own_pid("Name:\tx\nNSpid:\t4242\nThreads:\t1\n"), 4242);
    EXPECT_EQ(parse_own_pid("NSpid:\t4242\t17\t1\n"), 1);
    EXPECT_EQ(parse_own_pid("Pid:\t5\nNStgid:\t6\n"), std::nullopt);
    for (const char* text : {"", "NSpid:", "NSpid:\n", "NSpid:\tx\n", "NSpid:\t-1\n", "NSpid:\t99999999999\n"})
        EXPECT_FALSE(parse_own_pid(text)) << text;
}

}  // namespace python_finder_threads_test
}  // namespace memscope
