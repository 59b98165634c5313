#include "watch/growth/growth_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::int64_t kMiB = 1 << 20;
const RoleKey kLoader{.role = Role::dataloader_worker, .rank = {}};
constexpr RunId kTrain{1};  // a run of a job
constexpr RunId kElsewhere{2};
const GrowthBook::Holder kInTrain{.role = kLoader, .runs = {kTrain}};

StackId stack_id(std::uint64_t number) { return StackId{number}; }
SpaceId space_of(pid_t pid) { return SpaceId{static_cast<std::uint64_t>(pid) * 100}; }

RawStack stack_of(pid_t pid, std::uint64_t id) {
    return {.id = stack_id(id), .space = space_of(pid), .process = {pid, 7}};
}
CallSite site_at(const std::string& function, int line = 1) { return {.python = {{function, "train.py", line}}}; }
StackGrowth grown(pid_t pid, std::uint64_t id, std::int64_t bytes) {
    return {.stack = stack_id(id), .space = space_of(pid), .pid = pid, .bytes = bytes};
}
SpaceGrowth last_of(pid_t pid, std::int64_t external = 0, std::int64_t other = 0) {
    return {.space = space_of(pid), .process = {pid, 7}, .bytes = 900 * kMiB, .external = external, .other = other};
}

// (function, pid, bytes, living) of all that is booked.
using Row = std::tuple<std::string, pid_t, std::int64_t, bool>;
std::vector<Row> rows(const GrowthBook& book, RunId run = kTrain) {
    std::vector<Row> rows;
    for (const BookedGrowth& one : book.resident(run, [](const ProcessId&) { return &kLoader; }))
        rows.emplace_back(one.site->python.at(0).function, one.pid, one.bytes, one.living);
    return rows;
}

std::int64_t sum_of(const GrowthBook::Unnamed& unnamed) {
    return unnamed.external + unnamed.other + unnamed.unknown_stack + unnamed.exited;
}

GrowthBook::Take takes(std::map<StackId, std::int64_t> held) {
    return [held = std::move(held)](StackId id) -> std::optional<std::int64_t> {
        const auto found = held.find(id);
        return found == held.end() ? 0 : found->second;
    };
}

TEST(GrowthBook, HasWhatTheKernelBookedAtItsSite) {
    GrowthBook book;
    EXPECT_TRUE(book.learn(stack_of(5, 1), site_at("load")));
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB)});
    EXPECT_THAT(rows(book), ElementsAre(Row{"load", 5, 3 * kMiB, true}));
    book.set_resident(std::vector{grown(5, 1, 2 * kMiB)});  // totals, not changes
    EXPECT_THAT(rows(book), ElementsAre(Row{"load", 5, 2 * kMiB, true}));
}

TEST(GrowthBook, NamesAStackThatArrivesAfterItsGrowth) {
    GrowthBook book;
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB)});
    EXPECT_THAT(rows(book), IsEmpty());
    EXPECT_EQ(book.folded({5, 7}).unknown_stack, 3 * kMiB);
    book.learn(stack_of(5, 1), site_at("load"));
    EXPECT_THAT(rows(book), ElementsAre(Row{"load", 5, 3 * kMiB, true}));
    EXPECT_EQ(book.folded({5, 7}).unknown_stack, 0);
}

TEST(GrowthBook, GrowthAtAStackWhoseNamesAreStillBeingReadIsPending) {
    GrowthBook book;
    book.expect_names(stack_of(5, 1));
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB), grown(5, 2, kMiB)});
    EXPECT_TRUE(book.expects_names(stack_id(1)));
    EXPECT_FALSE(book.expects_names(stack_id(2)));
    EXPECT_EQ(book.folded({5, 7}).pending, 3 * kMiB);
    EXPECT_EQ(book.folded({5, 7}).unknown_stack, kMiB);
    book.learn(stack_of(5, 1), site_at("load"));
    EXPECT_THAT(rows(book), ElementsAre(Row{"load", 5, 3 * kMiB, true}));
    EXPECT_EQ(book.folded({5, 7}).pending, 0);
    EXPECT_FALSE(book.expects_names(stack_id(1)));
}

TEST(GrowthBook, GrowthAtAStackWhoseNamesDidNotComeIsKeptAsUnknown) {
    GrowthBook book;
    book.expect_names(stack_of(5, 1));
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB)});
    book.lose_names(stack_id(1));
    EXPECT_EQ(book.folded({5, 7}).pending, 0);
    EXPECT_EQ(book.folded({5, 7}).unknown_stack, 3 * kMiB);
    book.end(last_of(5), kInTrain);
    EXPECT_EQ(book.past(kTrain).unknown_stack, 3 * kMiB);
}

TEST(GrowthBook, ShowsOnlyProcessesOfTheTarget) {
    GrowthBook book;
    book.learn(stack_of(5, 1), site_at("load"));
    book.set_resident(std::vector{grown(5, 1, kMiB)});
    EXPECT_THAT(book.resident(kTrain, [](const ProcessId&) { return nullptr; }), IsEmpty());
}

TEST(GrowthBook, KeepsTheSitesOfAProcessThatEnded) {
    GrowthBook book;
    book.learn(stack_of(5, 1), site_at("load"));
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB), grown(5, 2, kMiB)});
    EXPECT_THAT(book.end(last_of(5, -kMiB, 2 * kMiB), kInTrain), UnorderedElementsAre(stack_id(1), stack_id(2)));
    EXPECT_THAT(rows(book), ElementsAre(Row{"load", 5, 3 * kMiB, false}));
    EXPECT_THAT(rows(book, kElsewhere), IsEmpty());
    const auto past = book.past(kTrain);
    EXPECT_EQ(past.external, -kMiB);
    EXPECT_EQ(past.other, 2 * kMiB);
    EXPECT_EQ(past.unknown_stack, kMiB);
    EXPECT_EQ(book.stack_count(), 0U);
}

// Its parent's memory, which it had from the beginning, was never counted as its growth.
TEST(GrowthBook, AnEndTakesOffWhatHadGrownAndNothingElse) {
    GrowthBook book;
    book.learn(stack_of(5, 1), site_at("load"));
    book.set_resident(std::vector{grown(5, 1, 3 * kMiB), grown(5, 2, kMiB)});
    book.end(last_of(5, -kMiB, 2 * kMiB), kInTrain);
    EXPECT_EQ(3 * kMiB + sum_of(book.past(kTrain)), 0);
}

TEST(GrowthBook, DoesNotAddAnEarlierRunOfTheJob) {
    GrowthBook book;
    const RunId runs[] = {RunId{1}, RunId{2}};
    for (int i = 0; i < 2; ++i) {
        const pid_t pid = 5 + i;
        book.learn(stack_of(pid, 1), site_at("load"));
        book.set_resident(std::vector{grown(pid, 1, 300 * kMiB)});
        book.end(last_of(pid, kMiB), {.role = kLoader, .runs = {runs[i]}});
    }
    EXPECT_THAT(rows(book, runs[0]), ElementsAre(Row{"load", 5, 300 * kMiB, false}));
    EXPECT_THAT(rows(book, runs[1]), ElementsAre(Row{"load", 6, 300 * kMiB, false}));
    EXPECT_EQ(book.past(runs[1]).external, kMiB);
}

TEST(GrowthBook, ForgetsRunsThatNobodyCanAskFor) {
    GrowthBook book;
    for (pid_t pid = 1; pid <= 1000; ++pid) {
        const RunId run{static_cast<std::uint64_t>(pid)};
        book.learn(stack_of(pid, 1), site_at("load" + std::to_string(pid)));
        book.set_resident(std::vector{grown(pid, 1, kMiB)});
        book.end(last_of(pid, kMiB), {.role = kLoader, .runs = {run}});
        book.keep_only({run});
    }
    EXPECT_THAT(rows(book, RunId{1000}), SizeIs(1));
    EXPECT_THAT(rows(book, RunId{999}), IsEmpty());
    EXPECT_EQ(book.past(RunId{999}).external, 0);
    EXPECT_LT(book.name_bytes(), 1000U);
    EXPECT_EQ(book.past_count(), 2U) << "the site and the sums of the last run";
    book.keep_only({});
    EXPECT_EQ(book.past_count(), 0U);
    EXPECT_EQ(book.name_bytes(), 0U);
}

TEST(GrowthBook, GenerationsOfWorkersDoNotPileUp) {
    GrowthBook book;
    for (pid_t pid = 1; pid <= 1000; ++pid) {
        book.learn(stack_of(pid, 1), site_at("load"));
        book.set_resident(std::vector{grown(pid, 1, kMiB)});
        book.end(last_of(pid), kInTrain);
    }
    std::int64_t bytes = 0;
    for (const auto& [function, pid, its, living] : rows(book)) bytes += its;
    EXPECT_EQ(bytes, 1000 * kMiB);
    EXPECT_THAT(rows(book), SizeIs(64));  // pids are named up to a number
    EXPECT_LT(book.name_bytes(), 1000U);
}

TEST(GrowthBook, OfTooMuchPastTheSmallestLosesItsName) {
    GrowthBook book(GrowthBook::Limits{.past_sites = 4});
    for (pid_t pid = 1; pid <= 5; ++pid) {
        book.learn(stack_of(pid, 1), site_at("load" + std::to_string(pid)));
        book.set_resident(std::vector{grown(pid, 1, pid * kMiB)});
        book.end(last_of(pid), kInTrain);
    }
    EXPECT_THAT(rows(book), UnorderedElementsAre(Row{"load3", 3, 3 * kMiB, false}, Row{"load4", 4, 4 * kMiB, false},
                                                 Row{"load5", 5, 5 * kMiB, false}));
    EXPECT_EQ(book.past(kTrain).other, 3 * kMiB);
}

TEST(GrowthBook, FoldsNothingWhileThereIsRoom) {
    GrowthBook book(GrowthBook::Limits{.stacks = 2});
    book.learn(stack_of(5, 1), site_at("load"));
    EXPECT_FALSE(book.is_full());
    EXPECT_THAT(book.fold(takes({})), IsEmpty());
    EXPECT_TRUE(book.knows(stack_id(1)));
}

TEST(GrowthBook, FoldsTheSmallestOfWhoHasMost) {
    GrowthBook book(GrowthBook::Limits{.stacks = 8});
    book.learn(stack_of(1, 100), site_at("honest"));
    std::vector<StackGrowth> all{grown(1, 100, 1)};
    std::map<StackId, std::int64_t> held;
    for (std::uint64_t id = 1; id <= 8; ++id) {
        book.learn(stack_of(2, id), site_at("made_up", static_cast<int>(id)));
        all.push_back(grown(2, id, static_cast<std::int64_t>(id) * kMiB));
        held[stack_id(id)] = static_cast<std::int64_t>(id) * kMiB;
    }
    book.set_resident(all);
    ASSERT_TRUE(book.is_full());
    EXPECT_THAT(book.fold(takes(held)), ElementsAre(std::pair<const pid_t, std::uint32_t>{2, 4U}));
    EXPECT_TRUE(book.knows(stack_id(100)));
    EXPECT_FALSE(book.knows(stack_id(4)));
    EXPECT_TRUE(book.knows(stack_id(5)));
    EXPECT_EQ(book.folded({2, 7}).other, (1 + 2 + 3 + 4) * kMiB);
    EXPECT_EQ(book.folded({1, 7}).other, 0);
}

TEST(GrowthBook, WhatMustStayIsNotFolded) {
    GrowthBook book(GrowthBook::Limits{.stacks = 1});
    book.learn(stack_of(2, 1), site_at("load"));
    book.learn(stack_of(2, 2), site_at("load", 2));
    EXPECT_THAT(book.fold([](StackId) { return std::nullopt; }), IsEmpty());
    EXPECT_EQ(book.stack_count(), 2U);
}

TEST(GrowthBook, OneProcessGetsAPartOfTheRoomForNames) {
    GrowthBook book(GrowthBook::Limits{.name_bytes = 40'000});
    std::size_t refused = 0;
    for (std::uint64_t id = 1; id <= 100; ++id)
        refused += book.learn(stack_of(2, id), site_at(std::string(1000, 'n'), static_cast<int>(id))) ? 0 : 1;
    EXPECT_GT(refused, 80U);
    EXPECT_LE(book.name_bytes(), 10'000U);
    EXPECT_TRUE(book.learn(stack_of(3, 1000), site_at("honest")));
}

// Six that fill all there is before anybody folds.
TEST(GrowthBook, LeavesRoomForWhoeverHasFewNames) {
    GrowthBook book(GrowthBook::Limits{.name_bytes = 160'000});
    for (pid_t pid = 2; pid < 8; ++pid)
        for (std::uint64_t id = 0; id < 60; ++id)
            book.learn(stack_of(pid, 1000 * static_cast<std::uint64_t>(pid) + id),
                       site_at(std::string(1000, 'n'), static_cast<int>(1000 * pid + static_cast<int>(id))));
    ASSERT_TRUE(book.is_full());
    EXPECT_FALSE(book.learn(stack_of(9, 1), site_at(std::string(5000, 'n')))) << "not few";
    EXPECT_TRUE(book.learn(stack_of(10, 2), site_at("honest")));
}

TEST(GrowthBook, MakesRoomForNames) {
    GrowthBook book(GrowthBook::Limits{.name_bytes = 40'000});
    book.learn(stack_of(1, 1000), site_at("honest"));
    std::uint64_t id = 0;
    for (pid_t pid = 2; pid <= 20; ++pid)
        for (int i = 0; i < 20; ++i) {
            ++id;
            book.learn(stack_of(pid, id), site_at(std::string(1000, 'n'), static_cast<int>(id)));
        }
    EXPECT_TRUE(book.is_full());
    EXPECT_LE(book.name_bytes(), 50'000U);
    book.fold(takes({}));
    EXPECT_LE(book.name_bytes(), 30'000U);
    EXPECT_TRUE(book.site_of(stack_id(1000)));
}

TEST(GrowthBook, KeepsTheBytesOfAStackThatIsGivenUp) {
    GrowthBook book;
    book.learn(stack_of(5, 1), site_at("load"));
    book.set_resident(std::vector{grown(5, 1, kMiB)});
    book.give_up(stack_id(1), kMiB);
    EXPECT_FALSE(book.knows(stack_id(1)));
    EXPECT_EQ(book.folded(stack_of(5, 1).process).other, kMiB);
    book.give_up(stack_id(7), kMiB);
    EXPECT_EQ(book.folded(stack_of(5, 1).process).other, kMiB) << "nobody's";
}

// A stack comes again when the kernel has forgotten that it was sent.
TEST(GrowthBook, LearningAStackAgainTakesNoMoreRoom) {
    GrowthBook book;
    for (int i = 0; i < 10; ++i) book.learn(stack_of(5, 1), site_at("load"));
    const std::size_t once = book.name_bytes();
    EXPECT_LT(once, 500U);
    book.set_resident(std::vector{grown(5, 1, kMiB)});
    EXPECT_THAT(rows(book), SizeIs(1));
    book.end(last_of(5), {.role = kLoader, .runs = {}});
    EXPECT_EQ(book.name_bytes(), 0U);
}

TEST(GrowthBook, AProgramThatExecutedAnotherHasTwoSpaces) {
    GrowthBook book;
    RawStack first = stack_of(5, 1), second = stack_of(5, 2);
    second.space = SpaceId{9};
    book.learn(first, site_at("before"));
    book.learn(second, site_at("after"));
    EXPECT_THAT(book.spaces_of(5), UnorderedElementsAre(space_of(5), SpaceId{9}));
}

}  // namespace
}  // namespace memscope
