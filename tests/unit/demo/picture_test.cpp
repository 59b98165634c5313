#include "demo/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "demo/scenario.h"
#include "observed.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace picture_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Observation leaking_run() {
    Observation seen = observed(find_scenario("leak")->top);
    Moment& last = seen.back();
    last.verdict = Verdict::leaking;
    last.grower = Grower{.pid = 101, .comm = "python3", .role = {Role::trainer, {}}, .levels = 1, .top = "launch.sh"};
    last.members.push_back({.pid = 101, .title = "python3 train.py"});
    last.leaks_since = Seconds{6};
    last.lines = GrowingLines{.most = "Trainer.validate (train.py:24)", .share = 0.99, .keeps = true};
    last.holders = "`__main__.trainer.val_outputs` (list) has grown by 900 tuples and 225 MiB in 28 s.";
    last.full_in = Seconds{12};
    return seen;
}

TEST(Picture, HasTheCurveAndTheFactsAboutTheLeak) {
    const std::string text = picture(leaking_run(), mebibytes(576), 80);
    EXPECT_THAT(text, AllOf(HasSubstr("limit 576 MiB"), HasSubstr("52 s\n"),
                            HasSubstr("\nleaks     trainer, pid 101: python3 train.py, 1 level below launch.sh\n"),
                            HasSubstr("\nsince     6 s after memscope began to watch\n"),
                            HasSubstr("\nline      Trainer.validate (train.py:24) keeps 99 % of the growth\n"),
                            HasSubstr("\nheld by   `__main__.trainer.val_outputs` (list)"),
                            HasSubstr("\ndies      at this rate the limit of 576 MiB is reached 12 s after the end")));
    for_each_line(text, [](std::string_view line) { EXPECT_LE(display_width(line), 80U) << line; });
}

TEST(Picture, ALineThatOnlyTouchedTheMemoryIsNotNamed) {
    Observation seen = leaking_run();
    seen.back().lines->keeps = false;
    EXPECT_THAT(picture(seen, mebibytes(576), 80), Not(HasSubstr("validate (train.py:24)")));
}

TEST(Picture, OmitsUnknownFacts) {
    Observation seen = leaking_run();
    Moment& last = seen.back();
    last.grower.reset();
    last.leaks_since.reset();
    last.lines.reset();
    last.holders.clear();
    last.full_in.reset();
    EXPECT_THAT(picture(seen, mebibytes(576), 80),
                AllOf(Not(HasSubstr("leaks")), Not(HasSubstr("since")), Not(HasSubstr("line ")),
                      Not(HasSubstr("held by")), Not(HasSubstr("dies"))));
    EXPECT_EQ(picture({}, mebibytes(576), 80), "");
}

TEST(Picture, AJobThatDoesNotLeakHasOnlyItsCurve) {
    Observation seen = leaking_run();
    seen.back().verdict = Verdict::stable;
    EXPECT_THAT(picture(seen, mebibytes(576), 80), AllOf(HasSubstr("limit"), Not(HasSubstr("leaks"))));
}

TEST(Picture, KillsAreMarkedAndCounted) {
    Observation seen = observed(find_scenario("crashloop")->top);
    for (Moment& moment : seen) moment.verdict = Verdict::leaking;
    const std::string text = picture(seen, mebibytes(256), 80);
    EXPECT_THAT(text, AllOf(HasSubstr("╳"), HasSubstr("killed by the kernel 7 times (╳), at the limit of 256 MiB")));
}

}  // namespace picture_test
}  // namespace memscope
