#include "analysis/heap/container_curves.h"

#include <gtest/gtest.h>

namespace memscope {
namespace container_curves_test {

using State = ContainerReading::State;

constexpr std::uint64_t kList = 0x1000;

ContainerPlace place(std::uint64_t address, std::uint64_t length) {
    return {.address = address, .slot = 0x9000, .type = 0x500, .items = address + 0x40, .length = length};
}

// A look at which each container that is read has this length.
void look(ContainerCurves& curves, double time, std::uint64_t length, State state = State::same) {
    const std::vector<ContainerPlace> places = curves.next_look();
    const std::vector<ContainerReading> readings(places.size(), {state, length, kList + 0x40});
    curves.add(time, places, readings);
}

TEST(ContainerCurves, AContainerThatGainsAtEveryLookIsFound) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    for (int i = 1; i <= 6; ++i) look(curves, 100 + 5 * i, 50 + 10 * i);
    const auto growing = curves.growing();
    ASSERT_EQ(growing.size(), 1U);
    EXPECT_EQ(growing[0].address, kList);
    EXPECT_EQ(growing[0].gained, 60U);
    EXPECT_EQ(growing[0].looks, 6U);
    EXPECT_EQ(growing[0].since, 100);
    EXPECT_EQ(growing[0].gained_at, 130);
    EXPECT_EQ(growing[0].read_at, 130);
    EXPECT_EQ(growing[0].longest_pause, Seconds{0}) << "it gained at all looks";
    EXPECT_DOUBLE_EQ(growing[0].per_second, 2);
}

TEST(ContainerCurves, LooksWithoutAGainAreAPause) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    look(curves, 105, 60);
    look(curves, 110, 60);
    look(curves, 115, 60);
    look(curves, 120, 70);
    look(curves, 140, 80);
    look(curves, 145, 80);
    ASSERT_EQ(curves.growing().size(), 1U);
    EXPECT_EQ(curves.growing()[0].longest_pause, Seconds{15}) << "there was no look for 20 s, so that is no pause";
    EXPECT_EQ(curves.growing()[0].gained_at, 140);
    EXPECT_EQ(curves.growing()[0].read_at, 145);
    look(curves, 800, 80);
    EXPECT_FALSE(curves.gains()) << "nothing for 10 minutes";
}

TEST(ContainerCurves, AContainerThatGivesOneItemBackBeginsAgain) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    for (int i = 1; i <= 6; ++i) look(curves, 100 + 5 * i, 50 + 10 * i);
    look(curves, 135, 109);
    EXPECT_TRUE(curves.growing().empty());
    EXPECT_FALSE(curves.gains());
    look(curves, 140, 120);
    look(curves, 145, 130);
    ASSERT_EQ(curves.growing().size(), 1U);
    EXPECT_EQ(curves.growing()[0].gained, 21U);
    EXPECT_EQ(curves.growing()[0].since, 135);
}

TEST(ContainerCurves, ALengthSaysSinceWhenItIsThatOfTheSameContainer) {
    ContainerCurves curves;
    EXPECT_FALSE(curves.length(kList));
    curves.begin(100, std::vector{place(kList, 50)});
    look(curves, 105, 60);
    ASSERT_TRUE(curves.length(kList));
    EXPECT_EQ(curves.length(kList)->items, 60U);
    EXPECT_EQ(curves.length(kList)->read, 105);
    EXPECT_EQ(curves.length(kList)->same_since, 100);
    look(curves, 110, 70, State::unsure);
    EXPECT_EQ(curves.length(kList)->same_since, 110);
    look(curves, 115, 0, State::gone);
    EXPECT_FALSE(curves.length(kList));
}

TEST(ContainerCurves, AContainerThatWasNeverLookedAtStaysIfACensusMissesIt) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    curves.begin(110, {});
    EXPECT_TRUE(curves.length(kList));
    look(curves, 115, 50);
    curves.begin(120, {});
    EXPECT_FALSE(curves.length(kList)) << "it does not grow";
}

TEST(ContainerCurves, TheRateIsKnownAfterTwoLooks) {
    ContainerCurves curves;
    EXPECT_FALSE(curves.first_seen(kList));
    curves.begin(100, std::vector{place(kList, 50)});
    EXPECT_EQ(curves.first_seen(kList), 100);
    look(curves, 110, 60);
    EXPECT_FALSE(curves.items_per_second(kList)) << "a census copies memory for seconds, so its length is of no time";
    look(curves, 120, 90);
    EXPECT_EQ(curves.items_per_second(kList), 3);
}

TEST(ContainerCurves, AnotherContainerAtTheAddressIsNotTheSame) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    look(curves, 105, 60);
    look(curves, 110, 70);
    look(curves, 115, 1000, State::unsure);
    EXPECT_TRUE(curves.growing().empty());
    EXPECT_FALSE(curves.items_per_second(kList));
    look(curves, 120, 0, State::gone);
    EXPECT_EQ(curves.size(), 0U);
    EXPECT_TRUE(curves.next_look().empty());
}

TEST(ContainerCurves, AContainerThatCouldNotBeReadKeepsItsCurve) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50)});
    look(curves, 105, 60);
    look(curves, 110, 0, State::unread);
    look(curves, 115, 70);
    ASSERT_EQ(curves.growing().size(), 1U);
    EXPECT_EQ(curves.growing()[0].gained, 20U);
}

TEST(ContainerCurves, ALaterCensusKeepsTheCurvesAndAlsoAGainingContainerThatItMissed) {
    ContainerCurves curves;
    curves.begin(100, std::vector{place(kList, 50), place(0x2000, 5000)});
    const auto gain = [&](double time, std::uint64_t length) {
        const auto places = curves.next_look();
        std::vector<ContainerReading> readings;
        for (const ContainerPlace& each : places)
            readings.push_back({State::same, each.address == kList ? length : each.length, each.items});
        curves.add(time, places, readings);
    };
    gain(105, 60);
    gain(110, 70);
    curves.begin(111, std::vector{place(0x2000, 5000), place(0x3000, 10)});
    EXPECT_EQ(curves.size(), 3U);
    EXPECT_EQ(curves.first_seen(kList), 100);
    EXPECT_EQ(curves.first_seen(0x2000), 100);
    EXPECT_EQ(curves.first_seen(0x3000), 111);
    gain(115, 80);
    ASSERT_EQ(curves.growing().size(), 1U);
    EXPECT_EQ(curves.growing()[0].gained, 30U);
    ContainerPlace other = place(0x3000, 9);
    other.items = 1;
    other.slot = 2;
    curves.begin(120, std::vector{other});
    EXPECT_EQ(curves.first_seen(0x3000), 120) << "another container at the same address";
    EXPECT_FALSE(curves.first_seen(0x2000)) << "it did not gain, and the census does not have it";
}

TEST(ContainerCurves, TheFirstLookReadsAllAndLaterOnesAPartAndThoseThatGain) {
    std::vector<ContainerPlace> places;
    for (std::uint64_t i = 0; i < 800; ++i) places.push_back(place(0x10000 + 0x100 * i, 10));
    ContainerCurves curves;
    curves.begin(100, places);
    const auto first = curves.next_look();
    ASSERT_EQ(first.size(), 800U);
    std::vector<ContainerReading> readings;
    for (const ContainerPlace& each : first)
        readings.push_back({State::same, each.address == 0x10000 + 0x100 * 799 ? 20U : 10U, each.items});
    curves.add(105, first, readings);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 8; ++i) {
        const auto next = curves.next_look();
        EXPECT_LE(next.size(), 101U);
        EXPECT_EQ(next.back().address, 0x10000U + 0x100 * 799) << "it gains";
        for (const ContainerPlace& each : next) seen.insert(each.address);
    }
    EXPECT_EQ(seen.size(), 800U) << "all are read again in eight looks";
}

TEST(ContainerCurves, ABoundedNumberOfContainersIsFollowedWhileTheyGain) {
    std::vector<ContainerPlace> places;
    for (std::uint64_t i = 0; i < 6000; ++i) places.push_back(place(0x10000 + 0x100 * i, 10));
    ContainerCurves curves;
    curves.begin(100, places);
    look(curves, 105, 20);
    for (int i = 2; i < 12; ++i) look(curves, 100 + 5 * i, 20 + i);
    EXPECT_EQ(curves.growing().size(), ContainerCurves::kMostGaining);
}

}  // namespace container_curves_test
}  // namespace memscope
