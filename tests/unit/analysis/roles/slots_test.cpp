#include "analysis/roles/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace slots_test {

using testing::ElementsAre;
using testing::Optional;

constexpr CgroupId kJob{7};

SlotAssigner::Subject worker(pid_t pid, Role role = Role::dataloader_worker, std::optional<int> rank = {},
                             CgroupId target = kJob) {
    return {{pid, static_cast<std::uint64_t>(pid)}, target, {role, rank}, false};
}
SlotAssigner::Subject ended(SlotAssigner::Subject subject) {
    subject.ended = true;
    return subject;
}

TEST(Slots, AreGivenInTheOrderOfStarts) {
    SlotAssigner slots;
    const std::vector<SlotAssigner::Subject> all{worker(12), worker(10), worker(11)};
    EXPECT_THAT(slots.assign(all), ElementsAre(Optional(2), Optional(0), Optional(1)));
    EXPECT_THAT(slots.assign(all), ElementsAre(Optional(2), Optional(0), Optional(1))) << "the slots stay the same";
}

TEST(Slots, AreReusedByTheWorkersOfTheNextEpoch) {
    SlotAssigner slots;
    slots.assign(std::vector{worker(10), worker(11)});
    EXPECT_THAT(slots.assign(std::vector{ended(worker(10)), ended(worker(11)), worker(20), worker(21)}),
                ElementsAre(Optional(0), Optional(1), Optional(0), Optional(1)));
    EXPECT_THAT(slots.assign(std::vector{worker(20), worker(21)}), ElementsAre(Optional(0), Optional(1)));
}

TEST(Slots, OneWorkerThatDiesIsReplacedInItsPlace) {
    SlotAssigner slots;
    slots.assign(std::vector{worker(10), worker(11), worker(12)});
    EXPECT_THAT(slots.assign(std::vector{worker(10), worker(12), worker(30)}),
                ElementsAre(Optional(0), Optional(2), Optional(1)));
}

TEST(Slots, AreCountedForEachJobRoleAndRank) {
    SlotAssigner slots;
    EXPECT_THAT(slots.assign(std::vector{worker(10, Role::dataloader_worker, 0), worker(11, Role::dataloader_worker, 1),
                                         worker(12, Role::compile_worker, 0),
                                         worker(13, Role::dataloader_worker, 0, CgroupId{8}),
                                         worker(14, Role::dataloader_worker, 0)}),
                ElementsAre(Optional(0), Optional(0), Optional(0), Optional(0), Optional(1)));
}

TEST(Slots, OnlyWorkersHaveSlots) {
    SlotAssigner slots;
    EXPECT_THAT(slots.assign(std::vector{worker(10, Role::trainer), worker(11, Role::other)}),
                ElementsAre(std::nullopt, std::nullopt));
}

}  // namespace slots_test
}  // namespace memscope
