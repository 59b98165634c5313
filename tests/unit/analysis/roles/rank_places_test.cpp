#include "analysis/roles/rank_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace memscope {
namespace rank_places_test {

using testing::Contains;
using testing::IsEmpty;

constexpr std::size_t kMost = RankPlaces::kMost;
constexpr Seconds kKeep = RankPlaces::kKeep;
constexpr int kLast = static_cast<int>(kMost) - 1;

RoleKey trainer(int rank) { return {Role::trainer, rank}; }
const RoleKey kFolded{Role::trainer, std::nullopt};

// Trainers of the ranks from `first` to `last`.
std::vector<RankPlaces::Subject> trainers(int first, int last) {
    std::vector<RankPlaces::Subject> subjects;
    for (int rank = first; rank <= last; ++rank) subjects.push_back({.wanted = trainer(rank)});
    return subjects;
}

TEST(RankPlaces, GiveEveryRankOfARealJobASeries) {
    RankPlaces places;
    const auto keys = places.assign(trainers(0, kLast), Seconds(1));
    for (int rank = 0; rank <= kLast; ++rank) EXPECT_EQ(keys[static_cast<std::size_t>(rank)], trainer(rank));
    EXPECT_FALSE(places.is_due(Seconds(1000)));
}

TEST(RankPlaces, FoldExcessRanksIntoTheRoleWithoutARank) {
    RankPlaces places;
    const auto keys = places.assign(trainers(0, 3999), Seconds(1));
    EXPECT_EQ(keys.front(), trainer(0));
    EXPECT_EQ(keys.back(), kFolded);
    EXPECT_EQ(std::set<RoleKey>(keys.begin(), keys.end()).size(), kMost + 1);
}

TEST(RankPlaces, LeaveProcessesWithoutARankAlone) {
    RankPlaces places;
    places.assign(trainers(0, 3999), Seconds(1));
    const std::vector<RankPlaces::Subject> one{{.wanted = {Role::helper, std::nullopt}}};
    EXPECT_EQ(places.assign(one, Seconds(2)).front(), one.front().wanted);
}

TEST(RankPlaces, AreNotTakenFromAPairThatHasProcesses) {
    RankPlaces places;
    places.assign(trainers(0, kLast), Seconds(0));
    std::vector<RankPlaces::Subject> subjects = trainers(5000, 5000);  // comes first
    for (const auto& there : trainers(0, kLast)) subjects.push_back(there);
    const auto keys = places.assign(subjects, Seconds(100'000));
    EXPECT_EQ(keys.front(), kFolded);
    EXPECT_EQ(keys.back(), trainer(kLast));
    EXPECT_THAT(places.take_vacated(), IsEmpty());
}

TEST(RankPlaces, AreReleasedSomeTimeAfterTheLastProcessExits) {
    RankPlaces places;
    places.assign(trainers(0, kLast), Seconds(0));
    places.assign(trainers(1, kLast), Seconds(1));  // rank 0 has exited
    auto subjects = trainers(1, kLast + 1);
    EXPECT_EQ(places.assign(subjects, Seconds(2)).back(), kFolded) << "too early: workers may come back";
    EXPECT_FALSE(places.is_due(kKeep - Seconds(1)));
    EXPECT_TRUE(places.is_due(kKeep));
    EXPECT_EQ(places.assign(subjects, kKeep).back(), trainer(kLast + 1));
    EXPECT_THAT(places.take_vacated(), testing::ElementsAre(trainer(0)));
    EXPECT_THAT(places.take_vacated(), IsEmpty());
}

TEST(RankPlaces, OfAnEndedProcessExpireWithoutOtherChanges) {
    RankPlaces places;
    auto subjects = trainers(0, kLast + 1);
    subjects.front().ended = true;
    EXPECT_EQ(places.assign(subjects, Seconds(0)).back(), kFolded);
    EXPECT_FALSE(places.is_due(kKeep - Seconds(1)));
    EXPECT_TRUE(places.is_due(kKeep));
}

TEST(RankPlaces, AreKeptWithoutProcessesIfNotNeeded) {
    RankPlaces places;
    places.assign(trainers(0, 7), Seconds(0));
    places.assign({}, Seconds(3600));
    places.assign(trainers(8, 9), Seconds(7200));
    EXPECT_THAT(places.take_vacated(), IsEmpty());
}

// `kept` stands for data that other classes keep for each pair as long as the pair has a place.
TEST(RankPlaces, KeepAMillionRanksOverTimeBounded) {
    RankPlaces places;
    std::set<RoleKey> kept;
    std::size_t most = 0;
    Seconds now{};
    for (int first = 0; first < 1'000'000; first += 500) {  // 500 short-lived processes in a tick
        const auto keys = places.assign(trainers(first, first + 499), now);
        for (const RoleKey& key : places.take_vacated()) EXPECT_EQ(kept.erase(key), 1U);
        kept.insert(keys.begin(), keys.end());
        most = std::max(most, kept.size());
        now += Seconds(1);
    }
    EXPECT_EQ(most, kMost + 1);
    EXPECT_THAT(kept, Contains(kFolded));
    EXPECT_GT(kept.rbegin()->rank, 990'000) << "the places belong to the current processes";
}

}  // namespace rank_places_test
}  // namespace memscope
