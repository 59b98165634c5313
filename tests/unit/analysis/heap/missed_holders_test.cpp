#include "analysis/heap/missed_holders.h"

#include <gmock/gmock.h>

#include "analysis/heap/held_objects.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/object_growth.h"
#include "support/fake_objects.h"

namespace memscope {
namespace missed_holders_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kOuter = 0x1000, kInner = 0x2000;

Holder at(std::uint64_t address, Holder holder) {
    holder.address = address;
    return holder;
}

Holder outer(std::uint64_t mib) { return at(kOuter, test::holder("trainer.callbacks", "list", 2, mib * kMiB)); }
Holder inner(std::uint64_t length, std::uint64_t mib) {
    return at(kInner, test::holder("trainer.callbacks[1].history", "list", length, mib * kMiB, 1, "dict"));
}

HeapCensus census(double time, std::uint64_t mib, std::vector<Holder> holders) {
    return test::with_objects(time, Bytes{mib * kMiB}, {.holders = std::move(holders)});
}

ContainerPlace place(std::uint64_t length) {
    return {.address = kInner, .slot = 0x9000, .type = 0x500, .items = 0x40, .length = length};
}

void look(ContainerCurves& curves, double time, std::uint64_t length,
          ContainerReading::State state = ContainerReading::State::same) {
    const auto places = curves.next_look();
    curves.add(time, places, std::vector<ContainerReading>(places.size(), {state, length, 0x40}));
}

const Holder* find(const ObjectCensus& objects, std::uint64_t address) {
    const auto found = std::ranges::find(objects.holders, address, &Holder::address);
    return found == objects.holders.end() ? nullptr : &*found;
}

HeldObjects held(HeapCensus now, const HeapCensus& before, const ContainerCurves& curves) {
    now.objects = with_missed_holders(now, &before, &before, &curves);
    return *held_objects(now, &before);
}

TEST(MissedHolders, AContainerWhoseLengthWasPolledIsNamedAndNotTheOneAroundIt) {
    const HeapCensus before = census(100, 300, {outer(210), inner(100, 200)}), now = census(130, 500, {outer(410)});
    ContainerCurves curves;
    curves.begin(100, std::vector{place(100)});
    for (int i = 1; i <= 5; ++i) look(curves, 100 + 5 * i, 100 + 20 * static_cast<std::uint64_t>(i));
    curves.begin(130, {});
    const auto objects = with_missed_holders(now, &before, &before, &curves);
    const Holder* added = find(*objects, kInner);
    ASSERT_TRUE(added);
    EXPECT_EQ(added->reading, HolderReading::estimated);
    EXPECT_EQ(added->length, 200U);
    EXPECT_EQ(added->retained.n, 400 * kMiB);
    EXPECT_EQ(added->within, 1U);
    const HeldObjects result = held(now, before, curves);
    EXPECT_EQ(result.holders[0].holder.address, kInner);
    EXPECT_EQ(result.holders[0].own_host, 200 * static_cast<std::int64_t>(kMiB));
    EXPECT_THAT(holder_sentence(result),
                testing::StartsWith("`trainer.callbacks[1].history` (list) has grown by 100 dicts and about 200 MiB"));
    EXPECT_THAT(holder_sentence(result), testing::Not(testing::HasSubstr("callbacks` ")));
}

TEST(MissedHolders, WithoutAProofNothingIsSaidOfTheContainerAroundIt) {
    const HeapCensus before = census(100, 300, {outer(210), inner(100, 200)}), now = census(130, 500, {outer(410)});
    for (const bool looked : {false, true}) {
        ContainerCurves curves;
        curves.begin(100, std::vector{place(100)});
        if (looked) {
            look(curves, 110, 120, ContainerReading::State::unsure);  // perhaps another list at its address
            look(curves, 120, 130);
        }
        curves.begin(130, {});
        const auto objects = with_missed_holders(now, &before, &before, &curves);
        ASSERT_TRUE(find(*objects, kInner)) << looked;
        EXPECT_EQ(find(*objects, kInner)->reading, HolderReading::missed);
        const HeldObjects result = held(now, before, curves);
        for (const HolderChange& each : result.holders) EXPECT_LE(each.own_host, 0) << each.holder.path;
        EXPECT_THAT(holder_sentence(result), testing::Not(testing::HasSubstr("has grown by"))) << looked;
    }
}

TEST(MissedHolders, AContainerThatIsGoneIsNotAdded) {
    const HeapCensus before = census(100, 300, {outer(210), inner(100, 200)}), now = census(130, 500, {outer(410)});
    ContainerCurves curves;
    curves.begin(100, std::vector{place(100)});
    look(curves, 105, 110, ContainerReading::State::gone);
    curves.begin(130, {});
    EXPECT_EQ(with_missed_holders(now, &before, &before, &curves), now.objects);
    EXPECT_EQ(with_missed_holders(now, &before, &before, nullptr), now.objects);
    EXPECT_EQ(held(now, before, curves).holders[0].own_host, 200 * static_cast<std::int64_t>(kMiB));
}

TEST(MissedHolders, AContainerThatWasReplacedAtItsPathIsNotAdded) {
    Holder other = inner(150, 300);
    other.address = 0x3000;
    const HeapCensus before = census(100, 300, {outer(210), inner(100, 200)}),
                     now = census(130, 500, {outer(310), other});
    ContainerCurves curves;
    curves.begin(100, std::vector{place(100)});
    EXPECT_EQ(with_missed_holders(now, &before, &before, &curves), now.objects);
}

TEST(MissedHolders, AContainerThatWasTornHasTheSizeOfItsLength) {
    Holder torn = inner(150, 1);
    torn.reading = HolderReading::torn;
    const HeapCensus before = census(100, 300, {outer(210), inner(100, 200)}),
                     now = census(130, 500, {outer(410), torn});
    ContainerCurves curves;
    const auto objects = with_missed_holders(now, &before, &before, &curves);
    EXPECT_EQ(find(*objects, kInner)->retained.n, 300 * kMiB);
    EXPECT_EQ(find(*objects, kInner)->reading, HolderReading::estimated);
    EXPECT_EQ(held(now, before, curves).holders[0].holder.address, kInner);
}

TEST(MissedHolders, ASmallContainerThatWasTornSaysNothingOfTheOneAroundIt) {
    Holder torn = at(kInner, test::holder("trainer.callbacks[0]", "list", 3, 1000, 1));
    torn.reading = HolderReading::torn;
    const HeapCensus before = census(100, 300, {outer(210)}), now = census(130, 500, {outer(410), torn});
    EXPECT_EQ(held(now, before, ContainerCurves()).holders[0].own_host, 200 * static_cast<std::int64_t>(kMiB) - 1000);
}

}  // namespace missed_holders_test
}  // namespace memscope
