#include "watch/self/self_protection.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/capabilities.h"

namespace memscope {
namespace self_protection_test {

// In a separate process, because processes that later tests start would inherit the score.
TEST(SelfProtection, TheKernelAcceptsTheLowerScoreFromAProcessThatMaySetIt) {
    const bool may = parse_capabilities(*read_file("/proc/self/status"), "CapEff").has(CAP_SYS_RESOURCE);
    const int before = *own_oom_score(SysRoot{});
    const pid_t child = ::fork();
    if (child == 0) {
        const bool lowered = static_cast<bool>(lower_own_oom_score(SysRoot{}));
        const int after = *own_oom_score(SysRoot{});
        ::_exit(lowered == may && after == (may ? kOwnOomScore : before) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(*own_oom_score(SysRoot{}), before);
}

}  // namespace self_protection_test
}  // namespace memscope
