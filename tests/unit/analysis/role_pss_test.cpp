#include "analysis/role_pss.h"

#include <gtest/gtest.h>

namespace memscope {
namespace {

Process process(pid_t pid, Role role, std::uint64_t anon) {
    Process made;
    made.task.id = {pid, 1};
    made.task.memory = AddressSpace{.anon = {anon}};
    made.role = role;
    return made;
}

SharingReading reading(std::uint64_t pss, std::uint64_t read_ns, std::uint64_t resident = 1000) {
    return {.read_ns = read_ns, .pages = PageSharing{.resident = {resident}, .pss = {pss}}};
}

constexpr std::uint64_t kNow = 10'000'000'000;

TEST(RolePss, SumsARoleAndIsAsOldAsItsOldestNumber) {
    const Process all[] = {process(1, Role::trainer, 1000), process(2, Role::dataloader_worker, 1000),
                           process(3, Role::dataloader_worker, 1000)};
    const SharingReadings readings = {
        {{1, 1}, reading(600, kNow)}, {{2, 1}, reading(200, kNow - 3'000'000'000)}, {{3, 1}, reading(100, kNow)}};
    const auto sums = sum_pss(all, readings, kNow);
    EXPECT_EQ(sums.at({Role::trainer}).bytes.n, 600U);
    EXPECT_EQ(sums.at({Role::trainer}).age.count(), 0);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).bytes.n, 300U);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).age.count(), 3);
    EXPECT_EQ(sums.at({Role::dataloader_worker}).processes, 2U);
}

TEST(RolePss, ARoleOfWhichTooLittleWasReadHasNone) {
    const Process all[] = {process(1, Role::trainer, 700), process(2, Role::trainer, 300)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, reading(600, kNow)}}, kNow).empty());
    EXPECT_TRUE(sum_pss(all, {}, kNow).empty());
}

TEST(RolePss, ASmallNewcomerDoesNotHideTheRest) {
    const Process all[] = {process(1, Role::trainer, 950), process(2, Role::trainer, 50)};
    EXPECT_EQ(sum_pss(all, {{{1, 1}, reading(600, kNow)}}, kNow).at({Role::trainer}).bytes.n, 600U);
}

TEST(RolePss, OneThatHasGrownALotSinceItWasReadIsNotKnown) {
    const Process all[] = {process(1, Role::trainer, 2000)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, reading(900, kNow)}}, kNow).empty());
    EXPECT_FALSE(sum_pss(all, {{{1, 1}, reading(900, kNow, 1900)}}, kNow).empty());
}

TEST(RolePss, OneThatMayNotBeReadAddsNothing) {
    const Process all[] = {process(1, Role::trainer, 1000)};
    EXPECT_TRUE(sum_pss(all, {{{1, 1}, {.read_ns = kNow, .pages = {}}}}, kNow).empty());
}

}  // namespace
}  // namespace memscope
