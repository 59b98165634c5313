#include "analysis/targets/tick_events.h"

#include <gmock/gmock.h>

namespace memscope {
namespace tick_events_test {

using testing::IsEmpty;
using testing::SizeIs;

TEST(TickEvents, AreTheChangesBetweenTwoTicks) {
    TargetSnapshot before;
    before.verdicts = {{.judgement = {.verdict = Verdict::stable}}};
    TargetSnapshot now = before;
    EXPECT_THAT(events_of_tick(&before, now), IsEmpty());
    EXPECT_FALSE(verdict_changed(&before, now));
    EXPECT_THAT(events_of_tick(nullptr, now), SizeIs(1));  // the first verdict

    now.verdicts.front().judgement.verdict = Verdict::leaking;
    now.verdicts.front().explanation = "It grows.";
    before.precursors = {{.kind = kPrecursorKinds[0], .reason = "old"}};
    now.precursors = {{.kind = kPrecursorKinds[1], .reason = "new"}};
    now.deaths = {{.id = {7, 1}, .comm = "a\nb", .cause = DeathCause::oom_kill, .explanation = "It was killed."},
                  {.id = {8, 1}, .news = false}};
    const auto events = events_of_tick(&before, now);
    ASSERT_THAT(events, SizeIs(4));
    EXPECT_EQ(events[0].kind, "verdict");
    EXPECT_EQ(events[0].text, "leaking: It grows.");
    EXPECT_EQ(events[1].kind, "precursor");
    EXPECT_EQ(events[1].text, std::string(name_of(kPrecursorKinds[1])) + ": new");
    EXPECT_EQ(events[2].kind, "precursor_over");
    EXPECT_EQ(events[2].text, name_of(kPrecursorKinds[0]));
    EXPECT_EQ(events[3].kind, "death");
    EXPECT_EQ(events[3].text, "oom_kill: 7 a\\nb: It was killed.");
}

}  // namespace tick_events_test
}  // namespace memscope
