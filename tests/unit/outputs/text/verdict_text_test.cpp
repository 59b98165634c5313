#include "outputs/text/verdict_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace verdict_text_test {

using testing::HasSubstr;

TEST(VerdictText, TooFewSamplesAreTooEarlyToTell) {
    Judgement judgement;
    judgement.samples = 2;
    judgement.until = Seconds(10);
    EXPECT_EQ(verdict_text(judgement, {}, {}),
              "too early to tell: the series has 2 samples in 10 s, record it for longer\n");
    EXPECT_EQ(phrase(Verdict::warming_up), "warming up");
    EXPECT_EQ(phrase(Verdict::leaking), "leaking");
    EXPECT_EQ(word(Verdict::insufficient), "insufficient") << "programs read this word";
}

TEST(VerdictText, UnixTimesAreShownRelativeToTheStart) {
    Judgement judgement;
    judgement.verdict = Verdict::leaking;
    judgement.leak_started = Seconds(600);
    EXPECT_THAT(verdict_text(judgement, Seconds(0), {}), HasSubstr("leaks since 600 s (10 min after the start)\n"));
    EXPECT_THAT(verdict_text(judgement, Seconds(600), {}), HasSubstr("leaks since 600 s (the start)\n"));
    judgement.leak_started = Seconds(1794936885);
    EXPECT_THAT(verdict_text(judgement, Seconds(1794936885 - 600), {}),
                HasSubstr("leaks since 10 min after the start\n"));
}

}  // namespace verdict_text_test
}  // namespace memscope
