#include "watch/self/least_privilege.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace memscope {
namespace least_privilege_test {

constexpr CapabilitySet kAll{~std::uint64_t{0}};
constexpr CapabilitySet kWatching =
    CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON).with(CAP_SYS_PTRACE).with(CAP_DAC_READ_SEARCH);

TEST(NeededCapabilities, WatchingNeedsFourCapabilities) { EXPECT_EQ(needed_capabilities({}, kAll), kWatching); }

TEST(NeededCapabilities, AreASubsetOfThoseThatTheProcessHas) {
    const auto few = CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON).with(CAP_CHOWN);
    EXPECT_EQ(needed_capabilities({}, few), CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON));
}

TEST(NeededCapabilities, SignallingTheCommandOfAnotherUserNeedsACapability) {
    EXPECT_EQ(needed_capabilities({.command = {"true"}}, kAll), kWatching.with(CAP_KILL));
}

TEST(NeededCapabilities, RemovingItsOwnCgroupNeedsACapability) {
    EXPECT_EQ(needed_capabilities({.own_cgroup = "memscope-run-1"}, kAll), kWatching.with(CAP_DAC_OVERRIDE));
}

TEST(NeededCapabilities, OnlyAPortBelow1024NeedsACapability) {
    EXPECT_EQ(needed_capabilities({.listen = "127.0.0.1:80"}, kAll), kWatching.with(CAP_NET_BIND_SERVICE));
    EXPECT_EQ(needed_capabilities({.listen = "127.0.0.1:1024"}, kAll), kWatching);
    EXPECT_EQ(needed_capabilities({.listen = std::nullopt}, kAll), kWatching);
}

TEST(NeededCapabilities, SysAdminStaysWhereItReplacesBpfAndPerfmon) {
    const auto old = CapabilitySet{}.with(CAP_SYS_ADMIN).with(CAP_SYS_PTRACE).with(CAP_CHOWN);
    EXPECT_EQ(needed_capabilities({}, old), CapabilitySet{}.with(CAP_SYS_ADMIN).with(CAP_SYS_PTRACE));
}

TEST(ProbingCapabilities, AreBpfAndPerfmonAndSysAdminWhereNeeded) {
    EXPECT_EQ(probing_capabilities(kAll, false), CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON));
    EXPECT_EQ(probing_capabilities(CapabilitySet{}.with(CAP_SYS_ADMIN).with(CAP_BPF).with(CAP_SYS_PTRACE), false),
              CapabilitySet{}.with(CAP_SYS_ADMIN).with(CAP_BPF));
    EXPECT_EQ(probing_capabilities(kAll, true), CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON).with(CAP_SYS_ADMIN))
        << "kernels that attach one probe at a time ask for it";
    EXPECT_EQ(probing_capabilities({}, true), CapabilitySet{});
}

}  // namespace least_privilege_test
}  // namespace memscope
