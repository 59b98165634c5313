#include "model/reclaim.h"

#include <gtest/gtest.h>

namespace memscope {
namespace {

constexpr CgroupId kOuter{1}, kInner{2}, kBeside{3};

ReclaimStalls stalls(double memcg, double direct, std::uint64_t count) {
    return {.memcg = Seconds(memcg), .direct = Seconds(direct), .stalls = count};
}

class StallLedgerTest : public testing::Test {
  protected:
    StallLedgerTest() {
        nesting_.add(kOuter, kNoCgroup);
        nesting_.add(kInner, kOuter);
        nesting_.add(kBeside, kNoCgroup);
    }
    Nesting nesting_;
    StallLedger ledger_;
};

TEST_F(StallLedgerTest, HasNoneOfATargetThatNeverStalled) {
    EXPECT_EQ(ledger_.of(kOuter).total(), Seconds{});
    EXPECT_EQ(ledger_.of(kOuter).stalls, 0U);
}

TEST_F(StallLedgerTest, BooksEachStallOnceToEveryTargetAroundIt) {
    ledger_.book(kInner, stalls(1, 0.5, 3), nesting_);
    ledger_.book(kOuter, stalls(2, 0, 1), nesting_);
    ledger_.book(kInner, stalls(1, 0.5, 3), nesting_);  // nothing new
    ledger_.book(kInner, stalls(4, 0.5, 5), nesting_);
    EXPECT_EQ(ledger_.of(kInner).total(), Seconds{4.5});
    EXPECT_EQ(ledger_.of(kInner).stalls, 5U);
    EXPECT_EQ(ledger_.of(kOuter).memcg, Seconds{6});
    EXPECT_EQ(ledger_.of(kOuter).direct, Seconds{0.5});
    EXPECT_EQ(ledger_.of(kOuter).stalls, 6U);
    EXPECT_EQ(ledger_.of(kBeside).stalls, 0U);
}

TEST_F(StallLedgerTest, KeepsForTheOuterWhatAnEndedInnerTargetHad) {
    ledger_.book(kInner, stalls(1, 0, 1), nesting_);
    ledger_.forget(kInner);
    nesting_.remove(kInner);
    EXPECT_EQ(ledger_.of(kOuter).total(), Seconds{1});
    EXPECT_EQ(ledger_.of(kInner).stalls, 0U);
}

}  // namespace
}  // namespace memscope
