#include "kernel/capabilities.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include "kernel/facts.h"

namespace memscope {
namespace capabilities_test {

TEST(Capabilities, AreReadByTheNameOfTheirSet) {
    constexpr std::string_view kStatus = "CapPrm:\t000000c000080004\nCapEff:\t0000000000000004\nCapBndX:\tff\n";
    EXPECT_TRUE(parse_capabilities(kStatus, "CapPrm").has(CAP_BPF));
    EXPECT_EQ(parse_capabilities(kStatus, "CapEff"), CapabilitySet{}.with(CAP_DAC_READ_SEARCH));
    EXPECT_EQ(parse_capabilities(kStatus, "CapBnd"), CapabilitySet{});
}

TEST(Privileges, AreReadFromTheEffectiveSet) {
    EXPECT_FALSE(parse_privileges("Name:\tx\nCapEff:\t0000000000000000\n").bpf);
    EXPECT_FALSE(parse_privileges("").bpf);
    EXPECT_FALSE(parse_privileges("CapEff:\tzzz\n").perfmon);
    EXPECT_TRUE(parse_privileges("CapEff:\t000001ffffffffff\n").perfmon);
    const auto two = parse_privileges("CapPrm:\t0000000000000000\nCapEff:\t000000c000000000\n");  // 38 and 39
    EXPECT_TRUE(two.bpf && two.perfmon);
    EXPECT_FALSE(two.read_all);
    EXPECT_TRUE(parse_privileges("CapEff:\t0000000000200000\n").bpf);  // CAP_SYS_ADMIN includes both
}

}  // namespace capabilities_test
}  // namespace memscope
