#include "analysis/deaths/past_events.h"

#include <gmock/gmock.h>

#include "support/dead_job.h"

namespace memscope {
namespace past_events_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

auto event(double time, const char* kind, const char* text) {
    return AllOf(Field(&PastEvent::time, time), Field(&PastEvent::kind, kind),
                 Field(&PastEvent::text, HasSubstr(text)));
}

TEST(PastEvents, AVerdictAndAPrecursorAreListedWhenTheyBegin) {
    const TargetSnapshot now = test::nearly_full();
    TargetSnapshot before = now;
    before.verdicts[0].judgement.verdict = Verdict::warming_up;
    before.precursors.clear();
    EXPECT_THAT(
        events_between(&before, now, 77),
        ElementsAre(event(77, "verdict", "called leaking"), event(test::kDied - 45, "precursor", "near_limit: 97 %")));
    EXPECT_THAT(events_between(&now, now, 78), IsEmpty());
}

TEST(PastEvents, AnEndedPrecursorIsListedToo) {
    const TargetSnapshot before = test::nearly_full();
    TargetSnapshot now = before;
    now.precursors.clear();
    EXPECT_THAT(events_between(&before, now, 77), ElementsAre(event(77, "precursor", "near_limit is over")));
}

TEST(PastEvents, CallsThatFailedAreCountedByCallAndReason) {
    const TargetSnapshot before = test::nearly_full();
    TargetSnapshot now = before;
    now.counters[{Role::dataloader_worker, {}}].mappings.emplace().failures[MS_FAILED_FALLOCATE][MS_REASON_ENOSPC] = 3;
    EXPECT_THAT(events_between(&before, now, 5),
                ElementsAre(event(5, "failure", "fallocate failed in a dataloader_worker (enospc), 3 times")));
    EXPECT_THAT(events_between(&now, now, 6), IsEmpty());
}

TEST(PastEvents, TheSeriesKnowsWhenWarmUpEndedAndTheLeakBegan) {
    EXPECT_THAT(events_of_series(test::nearly_full()), ElementsAre(event(test::kDied - 600, "start", "watching began"),
                                                                   event(test::kDied - 500, "warm-up", "warm-up ended"),
                                                                   event(test::kDied - 500, "leak", "began")));
    TargetSnapshot unjudged = test::nearly_full();
    unjudged.verdicts.clear();
    EXPECT_THAT(events_of_series(unjudged), IsEmpty());
}

}  // namespace past_events_test
}  // namespace memscope
