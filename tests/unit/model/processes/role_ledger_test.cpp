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
TEST(RoleLedger, LeavesNothingOfAProcessThatUnmappedMoreThanItHad) {
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

TEST(Nesting, RemovingTheMiddleOneJoinsTheOthers) {
    Nesting nesting;
    nesting.add(CgroupId{1}, kNoCgroup);
    nesting.add(CgroupId{2}, CgroupId{1});
    nesting.add(CgroupId{3}, CgroupId{2});
    nesting.remove(CgroupId{2});
    EXPECT_THAT(nesting.around(CgroupId{3}), testing::ElementsAre(CgroupId{3}, CgroupId{1}));
    EXPECT_THAT(nesting.around(kNoCgroup), testing::IsEmpty());
}

TEST(NearestLimit, IsTheOneWithTheLeastHeadroom) {
    EXPECT_FALSE(nearest_limit({}));
    const auto nearest = nearest_limit({{"own", {1000}, {100}}, {"a", {2000}, {1900}}, {"host", {9000}, {3000}}});
    ASSERT_TRUE(nearest);
    EXPECT_EQ(nearest->owner, "a");
    EXPECT_EQ(nearest->limit, Bytes{2000});
    EXPECT_EQ(nearest->headroom, Bytes{100});
    EXPECT_EQ(nearest_limit({{"own", {1000}, {5000}}})->headroom,
              Bytes{0});  // above the limit, as just before an OOM kill
}

}  // namespace role_ledger_test
}  // namespace memscope
