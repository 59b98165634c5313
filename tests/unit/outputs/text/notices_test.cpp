#include "outputs/text/notices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "example.h"

namespace memscope {
namespace notices_test {

using test::notices;
using testing::ElementsAre;
using testing::IsEmpty;

// The example with `percent` of its 64 GiB held.
Snapshot held(std::uint64_t percent) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].verdicts.clear();
    auto& memory = snapshot.targets[0].memory;
    memory.unreclaimable = Bytes{test::gib(64).n * percent / 100};
    memory.effective->headroom = test::gib(64) - memory.unreclaimable;
    return snapshot;
}

TEST(Notices, TheFirstTickNamesTheTargets) {
    EXPECT_THAT(notices(nullptr, held(10)),
                ElementsAre("train: watching, 47 GiB, 5 processes (1 launcher, 1 trainer, 3 dataloader workers)"));
}

TEST(Notices, AQuietTickSaysNothing) {
    const Snapshot snapshot = test::example();
    EXPECT_THAT(notices(&snapshot, snapshot), IsEmpty());
}

TEST(Notices, ATargetThatComesLaterIsAnnounced) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets.push_back(test::training("z"));
    now.targets[1].processes.clear();
    now.targets[1].memory.effective->headroom = test::gib(64);
    EXPECT_THAT(notices(&before, now), ElementsAre("z: watching, 47 GiB, no processes yet"));
}

TEST(Notices, TheEndOfATargetHasOneLine) {
    const Snapshot before = held(10);
    Snapshot down = before;
    down.targets[0].up = false;
    Snapshot gone = before;
    gone.targets.clear();
    EXPECT_THAT(notices(&before, down), ElementsAre("train: ended, last seen with 47 GiB"));
    EXPECT_THAT(notices(&before, gone), ElementsAre("train: ended, last seen with 47 GiB"));
    EXPECT_THAT(notices(&down, down), IsEmpty());
    EXPECT_THAT(notices(&down, gone), IsEmpty());
}

TEST(Notices, ATargetThatCannotBeReadAtSomeTicksHasNotEndedAndIsNotAnnouncedAgain) {
    const Snapshot before = held(10);
    Snapshot unread = before;
    unread.targets.clear();
    unread.unread = {"train"};
    Snapshot empty = before;
    empty.targets[0].processes.clear();
    NoticeWriter writer;
    writer.write(nullptr, before);
    EXPECT_THAT(writer.write(&before, unread), IsEmpty());
    EXPECT_THAT(writer.write(&unread, unread), IsEmpty());
    EXPECT_THAT(writer.write(&unread, empty),
                ElementsAre("train: empty: all processes have ended, 47 GiB stay charged"));
    EXPECT_THAT(writer.write(&empty, unread), IsEmpty());
    Snapshot gone = unread;
    gone.unread.clear();
    EXPECT_THAT(writer.write(&unread, gone), ElementsAre("train: ended, last seen with 47 GiB"));
    EXPECT_THAT(writer.write(&gone, gone), IsEmpty());
}

TEST(Notices, AnEmptyTargetHasNotEnded) {
    const Snapshot full = held(10);
    Snapshot empty = full;
    empty.targets[0].processes.clear();
    empty.targets[0].memory.usage = test::mib(3);
    EXPECT_THAT(notices(&full, empty), ElementsAre("train: empty: all processes have ended, 3.0 MiB stay charged"));
    EXPECT_THAT(
        notices(&empty, full),
        ElementsAre("train: no longer empty: 47 GiB, 5 processes (1 launcher, 1 trainer, 3 dataloader workers)"));
}

TEST(Notices, AnOomKillHasALineAlsoIfTheTargetEndsWithIt) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].memory.events->oom_kill = 2;
    now.targets[0].memory.events->max = 700;
    EXPECT_THAT(notices(&before, now),
                ElementsAre("train: the kernel killed 2 processes because memory ran out (oom_kill 2)"));
    now.targets[0].up = false;
    EXPECT_THAT(notices(&before, now),
                ElementsAre("train: the kernel killed 2 processes because memory ran out (oom_kill 2)",
                            "train: ended, last seen with 47 GiB"));
}

TEST(Notices, OldOomKillsAndAFallingCounterMakeNoLine) {
    Snapshot before = held(10);
    before.targets[0].memory.events->oom_kill = 3;
    EXPECT_EQ(notices(nullptr, before).size(), 1);
    EXPECT_THAT(notices(&before, held(10)), IsEmpty());
}

TEST(Notices, EachMarkOfTheLimitHasALineOnTheWayUp) {
    const Snapshot low = held(49);
    const Snapshot half = held(51);
    const Snapshot more = held(60);
    const Snapshot high = held(96);
    EXPECT_THAT(
        notices(&low, half),
        ElementsAre("train: 33 GiB of unreclaimable memory, above 50 % of its own limit (64 GiB); 31 GiB of headroom"));
    EXPECT_THAT(notices(&half, more), IsEmpty());
    EXPECT_THAT(
        notices(&more, high),
        ElementsAre(
            "train: 61 GiB of unreclaimable memory, above 95 % of its own limit (64 GiB); 2.6 GiB of headroom"));
    EXPECT_THAT(notices(&more, half), IsEmpty());
}

TEST(Notices, FallingBelowNinetyPercentHasALine) {
    const Snapshot high = held(91);
    const Snapshot lower = held(84);
    EXPECT_THAT(notices(&high, lower),
                ElementsAre("train: 54 GiB of unreclaimable memory, fell below 90 % of its own limit (64 GiB)"));
}

TEST(Notices, AJobThatVariesAroundNinetyPercentMakesOneLine) {
    NoticeWriter writer;
    Snapshot before = held(10);
    (void)writer.write(nullptr, before);
    std::vector<std::string> lines;
    for (int i = 0; i < 60; ++i) {
        Snapshot now = held(i % 3 == 0 ? 91 : 88);
        now.time += i;
        std::ranges::copy(writer.write(&before, now), std::back_inserter(lines));
        before = now;
    }
    EXPECT_EQ(lines.size(), 1U);
}

TEST(Notices, ATargetThatComesBackHasItsMarksAgain) {
    NoticeWriter writer;
    const Snapshot high = held(91);
    Snapshot gone = high;
    gone.targets.clear();
    (void)writer.write(nullptr, high);
    (void)writer.write(&high, gone);
    EXPECT_THAT(writer.write(&gone, high), testing::Contains(testing::HasSubstr("above 90 %")));
}

TEST(Notices, MarksApplyToTheLimitOfAnAncestor) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].memory.effective = EffectiveLimit{"jobs", test::gib(64), test::gib(3)};
    EXPECT_THAT(notices(&before, now), ElementsAre(testing::HasSubstr("above 95 % of the limit of jobs (64 GiB)")));
}

TEST(Notices, APrecursorHasALineWhenItBeginsAndWhenItEnds) {
    const Snapshot calm = held(10);
    Snapshot stalled = calm;
    stalled.targets[0].precursors = {{PrecursorKind::pressure, 1, "all its threads waited"}};
    Snapshot worse = stalled;
    worse.targets[0].precursors[0].reason = "everything stands still";
    worse.targets[0].precursors.push_back({PrecursorKind::shm_full, 2, "/dev/shm is full"});
    EXPECT_THAT(notices(&calm, stalled), ElementsAre("train: pressure: all its threads waited"));
    EXPECT_THAT(notices(&stalled, stalled), IsEmpty());
    EXPECT_THAT(notices(&stalled, worse), ElementsAre("train: shm_full: /dev/shm is full"));
    EXPECT_THAT(notices(&worse, calm), ElementsAre("train: pressure is over", "train: shm_full is over"));
}

TEST(Notices, APrecursorThatIsAlreadyPresentHasALineAtTheFirstTick) {
    Snapshot first = held(10);
    first.targets[0].precursors = {{PrecursorKind::host_low, 1, "the host is low"}};
    EXPECT_THAT(notices(nullptr, first), testing::Contains("train: host_low: the host is low"));
}

TEST(Notices, LossesHaveALine) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.self.dropped["tree_ring_full"] = 12;
    EXPECT_THAT(notices(&before, now), ElementsAre("memscope: 12 events could not be recorded (tree_ring_full)"));
}

TEST(Notices, AHostileNameStaysOnOneLine) {
    Snapshot now = held(10);
    now.targets[0].info.name = "a\nb\x1b[2J";
    EXPECT_THAT(notices(nullptr, now)[0], testing::StartsWith("a\\nb\\x1b[2J: watching"));
}

Snapshot judged(Verdict verdict) {
    Snapshot snapshot = test::example();
    ScopeVerdict whole;
    whole.judgement.verdict = verdict;
    whole.explanation = "Because.";
    snapshot.targets[0].verdicts = {whole};
    return snapshot;
}

TEST(Notices, AVerdictHasALineWhenItChanges) {
    const Snapshot before = judged(Verdict::insufficient);
    const Snapshot warming = judged(Verdict::warming_up);
    const Snapshot leaking = judged(Verdict::leaking);
    EXPECT_THAT(notices(&before, before), IsEmpty());
    EXPECT_THAT(notices(&before, warming), ElementsAre("train: warming_up: Because."));
    EXPECT_THAT(notices(&warming, warming), IsEmpty());
    EXPECT_THAT(notices(&warming, leaking), ElementsAre("train: leaking: Because."));
}

TEST(Notices, ASuspectedLeakHasOneLine) {
    const Snapshot before = judged(Verdict::insufficient);
    Snapshot suspected = before;
    suspected.targets[0].verdicts[0].suspect = Suspect{.name = "a", .text = "Suspected leak: `a` (list) grows."};
    suspected.targets[0].verdicts.push_back(suspected.targets[0].verdicts[0]);
    suspected.targets[0].verdicts[1].scope = VerdictScope::role;
    Snapshot later = suspected;
    later.targets[0].verdicts[0].suspect->text = "Suspected leak: `a` (list) still grows.";
    EXPECT_THAT(notices(&before, suspected), ElementsAre("train: Suspected leak: `a` (list) grows."));
    EXPECT_THAT(notices(&suspected, later), IsEmpty());
    later.targets[0].verdicts[0].suspect = Suspect{.name = "b", .text = "Suspected leak: `b` (dict) grows."};
    EXPECT_THAT(notices(&suspected, later), ElementsAre("train: Suspected leak: `b` (dict) grows."));
    EXPECT_THAT(notices(&suspected, before), IsEmpty()) << "it was withdrawn";
}

TEST(Notices, ALeakHasOneMoreLineWhenItsCauseIsFoundInMalloc) {
    const Snapshot warming = judged(Verdict::warming_up);
    const Snapshot leaking = judged(Verdict::leaking);
    Snapshot known = leaking;
    known.targets[0].verdicts[0].cause = GrowthCause{.kind = GrowthCause::Kind::malloc_free};
    known.targets[0].verdicts[0].explanation = "Free.";
    NoticeWriter writer;
    (void)writer.write(nullptr, warming);
    EXPECT_THAT(writer.write(&warming, leaking), ElementsAre("train: leaking: Because."));
    EXPECT_THAT(writer.write(&leaking, known), ElementsAre("train: leaking: Free."));
    EXPECT_THAT(writer.write(&known, leaking), IsEmpty());
    EXPECT_THAT(writer.write(&leaking, known), IsEmpty()) << "once for each leak";
    EXPECT_THAT(writer.write(&known, warming), ElementsAre("train: warming_up: Because."));
    EXPECT_THAT(writer.write(&warming, known), ElementsAre("train: leaking: Free.")) << "not twice in a tick";
}

TEST(Notices, UnSharingHasOneLineWhenItBecomesLarge) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].sharing.explanation = "3 workers have copied 2.0 GiB";
    EXPECT_THAT(notices(&before, now), ElementsAre("train: copy-on-write un-sharing: 3 workers have copied 2.0 GiB"));
    EXPECT_THAT(notices(&now, now), IsEmpty());
}

Death killed(pid_t pid, pid_t by) {
    Death death{.id = {pid, 1}, .cause = DeathCause::sigkill};
    death.signal = 9;
    death.sender = DeathSender::outside;
    death.sent_by = NamedProcess{by, "bash"};
    death.explanation = fmt::format("{} was killed by {}", pid, by);
    return death;
}

TEST(Notices, ADeathIsOneLineAndTeardownIsNone) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].deaths = {killed(101, 300)};
    EXPECT_THAT(notices(&before, now), ElementsAre("train: death: 101 was killed by 300"));
    now.targets[0].deaths[0].news = false;
    EXPECT_THAT(notices(&before, now), IsEmpty());
}

TEST(Notices, DeathsWithTheSameCauseAndSenderAreOneLine) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].deaths = {killed(101, 300), killed(110, 300), killed(111, 400), killed(112, 300)};
    EXPECT_THAT(notices(&before, now), ElementsAre("train: death: 101 was killed by 300, and 2 more died the same way",
                                                   "train: death: 111 was killed by 400"));
}

TEST(Notices, AnOomKillThatHasALineAsADeathHasNoSecondLine) {
    const Snapshot before = held(10);
    Snapshot now = before;
    now.targets[0].memory.events->oom_kill = 1;
    EXPECT_THAT(notices(&before, now),
                ElementsAre("train: the kernel killed 1 process because memory ran out (oom_kill 1)"));
    Death death{.id = {101, 1}, .cause = DeathCause::oom_kill};
    death.sender = DeathSender::kernel;
    death.explanation = "the kernel killed it";
    now.targets[0].deaths = {death};
    now.targets[0].death_tally.add(death);
    EXPECT_THAT(notices(&before, now), ElementsAre("train: death: the kernel killed it"));
}

TEST(Notices, TargetsWithoutADescriptorHaveOneLinePerEpisode) {
    const Snapshot all = test::example();
    Snapshot few = all, fewer = all;
    few.self.max_open_files = 1024;
    few.self.unwatched_targets = 37;
    few.self.dropped["target_no_descriptor"] += 37;
    fewer.self.unwatched_targets = 40;
    fewer.self.dropped["target_no_descriptor"] += 40;
    EXPECT_THAT(
        notices(&all, few),
        ElementsAre("memscope: 37 cgroups that match are not watched, because memscope has no file descriptor "
                    "left (its limit is 1024): raise the hard limit (LimitNOFILE= of a service, ulimit -Hn in a "
                    "shell) or watch fewer cgroups"));
    EXPECT_THAT(notices(&few, fewer), IsEmpty());
    EXPECT_THAT(notices(&fewer, all),
                ElementsAre("memscope: enough file descriptors again: every cgroup that matches is watched"));
}

}  // namespace notices_test
}  // namespace memscope
