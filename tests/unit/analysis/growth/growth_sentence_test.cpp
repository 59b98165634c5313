#include "analysis/growth/growth_sentence.h"

#include <gmock/gmock.h>

namespace memscope {
namespace growth_sentence_test {

using Reason = Ownership::Reason;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kMiB = 1 << 20;
constexpr GrowthSpan kTenMinutes{.since = Seconds{600}};

Ownership validate(double share = 0.9) {
    return {.reason = Reason::known,
            .owner = GrowthOwner{.place = "validate (train.py:60)", .bytes = 114 * kMiB, .share = share},
            .grown = 127 * kMiB};
}

Ownership unknown(Reason reason) { return {.reason = reason, .grown = 127 * kMiB}; }

TEST(GrowthSentence, NamesTheLineThatKeepsMemory) {
    EXPECT_EQ(growth_sentence(validate(), kTenMinutes, LineTrend{.grew = 8, .minutes = 10}),
              "validate (train.py:60) keeps 114 MiB more than 10 min ago; it grew in 8 of the last 10 minutes.");
    EXPECT_EQ(growth_sentence(validate(), kTenMinutes, LineTrend{.grew = 10, .minutes = 10}),
              "validate (train.py:60) keeps 114 MiB more than 10 min ago; it grew in each of the last 10 minutes.");
    EXPECT_EQ(growth_sentence(validate(), kTenMinutes, LineTrend{.grew = 0, .minutes = 10}),
              "validate (train.py:60) keeps 114 MiB more than 10 min ago; it did not grow in the last 10 minutes.");
}

TEST(GrowthSentence, ClaimsNothingAboutMinutesThatAreNotKnown) {
    EXPECT_EQ(growth_sentence(validate(), {}, std::nullopt),
              "validate (train.py:60) keeps 114 MiB more than when watching began.");
    EXPECT_EQ(growth_sentence(validate(), {.since = Seconds{580}, .after_warmup = true}, std::nullopt),
              "validate (train.py:60) keeps 114 MiB more than at the end of the warm-up 9 min 40 s ago.");
}

TEST(GrowthSentence, StatesTheShareIfItIsLessThanHalf) {
    EXPECT_THAT(growth_sentence(validate(0.3), kTenMinutes, std::nullopt), HasSubstr("(30 % of what grew)"));
}

TEST(GrowthSentence, UsesThePastTenseAtThePeak) {
    EXPECT_EQ(growth_sentence(validate(), {.peak = 7.0}, LineTrend{.grew = 8, .minutes = 10}),
              "validate (train.py:60) kept at the peak 114 MiB more than when watching began.");
}

TEST(GrowthSentence, SaysThatMallocRecyclesTheMemory) {
    EXPECT_EQ(growth_sentence(unknown(Reason::recycled), kTenMinutes, std::nullopt),
              "127 MiB more is held than 10 min ago: most of it is recycled by malloc, so the line that touched it "
              "first is not the owner: `memscope heap` shows what is live and what is free.");
}

TEST(GrowthSentence, SaysThatTheLineIsNotKnown) {
    EXPECT_THAT(growth_sentence(unknown(Reason::no_line), kTenMinutes, std::nullopt),
                AllOf(StartsWith("127 MiB more is held than 10 min ago"), HasSubstr("does not know which line"),
                      HasSubstr("memscope heap")));
    EXPECT_THAT(growth_sentence(unknown(Reason::first_touch), kTenMinutes, std::nullopt),
                AllOf(HasSubstr("does not know which line"), HasSubstr("frees are not matched")));
    EXPECT_EQ(growth_sentence(unknown(Reason::not_measured), kTenMinutes, std::nullopt),
              "Which line keeps memory is not known with --no-maps.");
}

TEST(GrowthSentence, NamesTheContainersThatGrewIfNoLineIsKnown) {
    for (const Reason reason : {Reason::recycled, Reason::no_line, Reason::first_touch}) {
        Ownership held = unknown(reason);
        held.holders = "`a.outputs` (list) has grown by 7 tuples and 99 MiB in 5 min; 92 % of the growth.";
        EXPECT_EQ(growth_sentence(held, kTenMinutes, std::nullopt),
                  "127 MiB more is held than 10 min ago. `a.outputs` (list) has grown by 7 tuples and 99 MiB in 5 min; "
                  "92 % of the growth.");
        EXPECT_THAT(growth_sentence(held, {.peak = 40.0}, std::nullopt), Not(HasSubstr("outputs")))
            << "the censuses are of another time than the peak";
    }
    Ownership known = validate();
    known.holders = "`a.outputs` has grown.";
    EXPECT_THAT(growth_sentence(known, kTenMinutes, std::nullopt), Not(HasSubstr("outputs")));
}

TEST(GrowthSentence, SaysThatLittleGrew) {
    EXPECT_EQ(growth_sentence({}, kTenMinutes, std::nullopt), "Less than 1.0 MiB more is held than 10 min ago.");
}

TEST(GrowthSentence, IsPrintable) {
    Ownership hostile = validate();
    hostile.owner->place = "\x1b[2J\n";
    EXPECT_THAT(growth_sentence(hostile, kTenMinutes, std::nullopt),
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
}

TEST(SpanText, SaysTheRealTimeOfTheSnapshot) {
    EXPECT_EQ(span_text({}, 100), "since watching began");
    EXPECT_EQ(span_text({.since = Seconds{580}}, 100), "since 9 min 40 s ago");
    EXPECT_EQ(span_text({.since = Seconds{600}, .after_warmup = true}, 100), "since the end of the warm-up 10 min ago");
    EXPECT_EQ(span_text({.since = Seconds{3 * 3600 + 600}}, 100), "since 3 h 10 min ago");
    EXPECT_EQ(span_text({.peak = 40.0}, 100), "since watching began, as it was at the peak (1 min ago)");
    EXPECT_EQ(span_text({.peak = 100.0}, 100), "since watching began, as it was at the peak (which is now)");
}

}  // namespace growth_sentence_test
}  // namespace memscope
