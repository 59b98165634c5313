#include "analysis/roles/role_totals.h"

#include <gtest/gtest.h>

namespace memscope {
namespace role_totals_test {

Process process(Role role, std::optional<int> rank, std::optional<AddressSpace> memory, std::uint32_t threads) {
    Process made;
    made.role = role;
    made.rank = rank;
    made.task.memory = memory;
    made.task.threads = threads;
    return made;
}

TEST(RoleTotals, WithoutProcessesThereAreNoSums) { EXPECT_TRUE(sum_by_role({}).empty()); }

TEST(RoleTotals, EachKindIsSummedWithinItsRoleAndRank) {
    const Process all[] = {
        process(Role::trainer, 0, AddressSpace{.anon = {1}, .file = {2}, .shmem = {3}, .swap = {4}}, 10),
        process(Role::trainer, 0, AddressSpace{.anon = {10}, .file = {20}, .shmem = {30}, .swap = {40}}, 5),
        process(Role::trainer, 1, AddressSpace{.anon = {100}}, 1),
        process(Role::helper, std::nullopt, AddressSpace{.shmem = {7}}, 2),
    };
    const auto sums = sum_by_role(all);
    ASSERT_EQ(sums.size(), 3U);
    const RoleTotals& first = sums.at({Role::trainer, 0});
    EXPECT_EQ(first.anon.n, 11U);
    EXPECT_EQ(first.file.n, 22U);
    EXPECT_EQ(first.shmem.n, 33U);
    EXPECT_EQ(first.swap.n, 44U);
    EXPECT_EQ(first.processes, 2U);
    EXPECT_EQ(first.threads, 15U);
    EXPECT_EQ(sums.at({Role::trainer, 1}).anon.n, 100U);
    EXPECT_EQ(sums.at({Role::helper, std::nullopt}).shmem.n, 7U);
}

TEST(RoleTotals, InheritedMemoryIsNotOwnMemory) {
    Process workers[] = {process(Role::dataloader_worker, 0, AddressSpace{.anon = {100}}, 1),
                         process(Role::dataloader_worker, 0, AddressSpace{.anon = {100}}, 1)};
    workers[0].inherited = {90};
    workers[1].inherited = {70};
    const RoleTotals sum = sum_by_role(workers).at({Role::dataloader_worker, 0});
    EXPECT_EQ(sum.anon.n, 200U);
    EXPECT_EQ(sum.own_anon().n, 40U);
    EXPECT_TRUE(sum.own_known);
    workers[1].own_known = false;
    EXPECT_FALSE(sum_by_role(workers).at({Role::dataloader_worker, 0}).own_known);
}

TEST(RoleTotals, CountsProcessesWithoutAnAddressSpace) {
    const Process all[] = {process(Role::other, std::nullopt, std::nullopt, 1)};
    const auto sums = sum_by_role(all);
    EXPECT_EQ(sums.at({Role::other, std::nullopt}).processes, 1U);
    EXPECT_EQ(sums.at({Role::other, std::nullopt}).anon.n, 0U);
}

}  // namespace role_totals_test
}  // namespace memscope
