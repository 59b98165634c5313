#include "unit/model/watch.h"

namespace memscope {
namespace role_ledger_test {

using namespace test;

TEST(RoleLedger, KeepsTheSumsWhenARankIsFolded) {
    Watch w;
    for (int rank = 0; rank < 5; ++rank) {
        TrackedProcess process{.task = sample({200 + rank, 2000}, 2000, {.minor = 7, .major = 2}).task};
        process.task.target = kJob;
        process.crossings = {{kNoCgroup, kJob}};
        process.mappings.emplace();
        process.mappings->mapped[MS_MAPPED_MMAP] = Bytes{100};
        w.count(process, {Role::trainer, rank});
    }
    for (int rank = 0; rank < 4; ++rank) w.ledgers[kJob].fold_rank({Role::trainer, rank});
    w.ledgers[kJob].fold_rank({Role::helper, 0});  // never counted
    ASSERT_EQ(w.ledgers[kJob].all().size(), 2U);
    const RoleCounters& folded = w.ledgers[kJob].all().at({Role::trainer, std::nullopt});
    EXPECT_EQ(folded.starts, 4U);
    EXPECT_EQ(folded.faults, (Faults{28, 8}));
    ASSERT_TRUE(folded.mappings);
    EXPECT_EQ(folded.mappings->mapped[MS_MAPPED_MMAP], Bytes{400});
    EXPECT_EQ(w.ledgers[kJob].all().at({Role::trainer, 4}).starts, 1U);
}

// Threads that unmap at once may both count it, where the kernel cannot exchange a value.
TEST(RoleLedger, BalancesAProcessThatUnmappedMoreThanItMapped) {
    Watch w;
    TrackedProcess process{.task = sample({200, 2000}, 2000).task};
    process.task.target = kJob;
    process.mappings.emplace();
    process.mappings->mapped[MS_MAPPED_MMAP] = Bytes{100};
    process.mappings->unmapped[MS_UNMAPPED_EXIT] = Bytes{140};
    process.ended = true;
    w.count(process, {Role::trainer});
    const auto& counted = w.ledgers[kJob].all().at({Role::trainer}).mappings;
    ASSERT_TRUE(counted);
    EXPECT_EQ(counted->summed(), Mappings{});
    EXPECT_EQ(counted->mapped[MS_MAPPED_OTHER], Bytes{40});
    EXPECT_EQ(counted->unmapped[MS_UNMAPPED_EXIT], Bytes{140});
}

}  // namespace role_ledger_test
}  // namespace memscope
