#include "demo/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "demo/demo.h"
#include "outputs/text/text_layout.h"
#include "unit/demo/observed.h"

namespace memscope {
namespace answers_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Answer answer_of(const char* name) {
    const Scenario& scenario = *find_scenario(name);
    return scenario.answer(observed(scenario.top));
}

Actor& trainer_of(Actor& top) { return top.role == Role::trainer ? top : trainer_of(top.children.at(0)); }

TEST(Answers, WithoutNumbersThereIsNoAnswer) {
    for (const Scenario& scenario : scenarios()) {
        EXPECT_FALSE(scenario.answer({}).seen) << scenario.name;
        EXPECT_FALSE(scenario.answer({Moment{}}).seen) << scenario.name;
    }
}

TEST(Answers, TheLeakIsInTheTrainerAndHasItsRate) {
    const Answer answer = answer_of("leak");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("from 24 MiB to 472 MiB"), HasSubstr("8.0 MiB a second"),
                                   HasSubstr("other roles did not change")));
}

TEST(Answers, WarmUpSaysWhenItEnded) {
    const Answer answer = answer_of("warmup");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("grew by 240 MiB"), HasSubstr("by 0 B in the second half")));
}

TEST(Answers, SpikesHaveHeightPeriodAndAFloor) {
    const Answer answer = answer_of("spikes");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("up by 120 MiB"), HasSubstr("6 times"), HasSubstr("every 8.0 s"),
                                   HasSubstr("was 96 MiB and is 96 MiB")));
}

TEST(Answers, StepsHaveSizeAndPeriod) {
    const Answer answer = answer_of("steps");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("6 steps of 24 MiB"), HasSubstr("every 8.0 s"), HasSubstr("144 MiB")));
}

TEST(Answers, UnSharingIsGrowthOfTheCgroupWithoutGrowthOfTheProcesses) {
    const Answer answer = answer_of("workers");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text,
                AllOf(HasSubstr("3 workers have copied 375 MiB of the trainer's pages since they were forked"),
                      HasSubstr("from 232 MiB to 607 MiB"),
                      HasSubstr("summed RssAnon of its processes did not change (832 MiB)")));
}

TEST(Answers, TheWrapperNamesTheProcessThatGrewAndItsDepth) {
    const Answer answer = answer_of("wrapper");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("python (pid 102) went from 16 MiB to 299 MiB"),
                                   HasSubstr("2 levels below uv (pid 100). uv did not change")));
}

TEST(Answers, FragmentationIsFreeMemoryInsideMalloc) {
    const Answer answer = answer_of("fragmentation");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("from 16 MiB to 392 MiB, and 338 MiB of 392 MiB were free inside malloc"),
                                   HasSubstr("malloc_trim(0) would give back 301 MiB")));
    Observation unexplained = observed(find_scenario("fragmentation")->top);
    for (Moment& moment : unexplained) moment.cause.reset();
    EXPECT_FALSE(fragmentation_answer(unexplained).seen) << "memscope must have found the cause";
}

TEST(Answers, AJobThatStaysFlatShowsNothing) {
    for (const Scenario& scenario : scenarios()) {
        Actor top = scenario.top;
        trainer_of(top).holds = constant(mebibytes(96));
        trainer_of(top).mallocs = constant({});
        for (Actor& worker : trainer_of(top).children) worker.rewrites = constant({});
        EXPECT_FALSE(scenario.answer(observed(top)).seen) << scenario.name;
    }
}

TEST(Answers, OneScenarioIsNotMistakenForAnother) {
    const auto shows = [](const char* answer, const char* played) {
        return find_scenario(answer)->answer(observed(find_scenario(played)->top)).seen;
    };
    EXPECT_FALSE(shows("leak", "warmup"));
    EXPECT_FALSE(shows("leak", "spikes"));
    EXPECT_FALSE(shows("warmup", "leak"));
    EXPECT_FALSE(shows("warmup", "steps"));
    EXPECT_FALSE(shows("spikes", "steps"));
    EXPECT_FALSE(shows("steps", "spikes"));
    EXPECT_FALSE(shows("steps", "leak"));
    EXPECT_FALSE(shows("workers", "leak"));
    EXPECT_FALSE(shows("fragmentation", "leak"));
    EXPECT_FALSE(shows("wrapper", "leak"));  // one level is not two
}

TEST(Answers, TheAnswerForALeakEndsWithTheGrowingList) {
    Observation seen = observed(find_scenario("leak")->top);
    EXPECT_THAT(leak_answer(seen).text, HasSubstr("no python3 here"));
    seen.back().heap.emplace().python = "3.11";
    EXPECT_THAT(leak_answer(seen).text, AllOf(HasSubstr("No census"), Not(HasSubstr("no python3"))));
    seen.back().holders = "`__main__.trainer.val_outputs` (list) has grown by 900 tuples and 225 MiB in 28 s.";
    const Answer answer = leak_answer(seen);
    EXPECT_TRUE(answer.seen);
    EXPECT_TRUE(answer.text.ends_with("leak in the trainer. " + seen.back().holders)) << answer.text;
}

TEST(Answers, ACrashLoopCountsItsKills) {
    const Answer answer = answer_of("crashloop");
    EXPECT_TRUE(answer.seen);
    EXPECT_THAT(answer.text, AllOf(HasSubstr("killed the trainer 7 times, every 7.0 s"), Not(HasSubstr(" at "))));
    Observation seen = observed(find_scenario("crashloop")->top);
    seen[20].verdict = Verdict::leaking;
    seen[20].lines = GrowingLines{.most = "Trainer.step (train.py:12)", .keeps = true};
    seen[22].lines = GrowingLines{.most = "load (train.py:3)", .keeps = true};  // the next run has just begun
    EXPECT_THAT(crashloop_answer(seen).text, HasSubstr("Each run leaks at Trainer.step (train.py:12)"));
    seen[14].kills.at(0).role.role = Role::launcher;
    EXPECT_FALSE(crashloop_answer(seen).seen) << "the launcher must survive";
}

TEST(Answers, AnotherRoleThatGrowsIsNotHidden) {
    Actor top = find_scenario("leak")->top;
    trainer_of(top).children.at(0).holds = leaking(mebibytes(2), Seconds{0});
    const Answer answer = leak_answer(observed(top));
    EXPECT_FALSE(answer.seen);
    EXPECT_THAT(answer.text, HasSubstr("other roles changed by 104 MiB"));
}

TEST(Story, OpensWithTheStoryAndClosesWithTheAnswer) {
    for (const Scenario& scenario : scenarios()) {
        const std::string before = opening(scenario, kScenarioLength, std::nullopt);
        Observation seen = observed(scenario.top);
        for (Moment& moment : seen) moment.verdict = scenario.verdict;
        const std::string after = closing(scenario, seen, kScenarioLength, {});
        EXPECT_THAT(before, AllOf(HasSubstr(std::string("memscope demo ") + std::string(scenario.name)),
                                  HasSubstr(human_size(scenario.limit)), HasSubstr("52 s")));
        EXPECT_THAT(after, AllOf(HasSubstr("Measured: "), Not(HasSubstr("did not behave"))));
        for_each_line(before + after, [](std::string_view line) { EXPECT_LE(display_width(line), 80U) << line; });
    }
}

TEST(Story, ARunThatEndsEarlyHasNoAnswer) {
    const Scenario& leak = *find_scenario("leak");
    EXPECT_THAT(closing(leak, observed(leak.top, Seconds{20}), kScenarioLength, {}),
                AllOf(HasSubstr("Ended after 20 s of 52 s"), Not(HasSubstr("Measured"))));
    EXPECT_THAT(closing(leak, {}, kScenarioLength, {}), HasSubstr("too early"));
}

TEST(Story, ARunThatShowsSomethingElseSaysSo) {
    const Scenario& leak = *find_scenario("leak");
    EXPECT_THAT(closing(leak, observed(find_scenario("warmup")->top), kScenarioLength, {}),
                HasSubstr("did not behave"));
}

TEST(Story, AWrongVerdictIsNotHidden) {
    const Scenario& leak = *find_scenario("leak");
    EXPECT_THAT(closing(leak, observed(leak.top), kScenarioLength, {}), HasSubstr("did not behave"));
}

TEST(Story, ReportsAnUnexpectedKill) {
    const Scenario& leak = *find_scenario("leak");
    Observation seen = observed(leak.top);
    seen.at(20).kills.push_back({.at = Seconds{20}, .role = {Role::trainer, {}}, .comm = "python3", .explanation = {}});
    EXPECT_THAT(closing(leak, seen, kScenarioLength, {}), AllOf(HasSubstr("after 20 s the kernel killed python3"),
                                                                HasSubstr("which this demo should not reach")));
}

TEST(Story, ALargeInterpreterRaisesTheLimit) {
    const Scenario& leak = *find_scenario("leak");
    const auto limit_with = [&](Bytes imported) { return with_room_for(leak, DemoPython{.imported = imported}).limit; };
    EXPECT_EQ(with_room_for(leak, std::nullopt).limit, leak.limit);
    EXPECT_EQ(limit_with(kUsualInterpreter), leak.limit);
    EXPECT_EQ(limit_with(kUsualInterpreter + mebibytes(64)), leak.limit + mebibytes(192));
    EXPECT_EQ(limit_with(kUsualInterpreter + mebibytes(200)), leak.limit + mebibytes(512));
}

TEST(Story, NamesThePythonThatRunsIt) {
    const Scenario& leak = *find_scenario("leak");
    const DemoPython python{.program = "/usr/bin/python3", .version = "3.11.2", .torch = "1.13.0"};
    EXPECT_THAT(wrapped(opening(leak, kScenarioLength, python), 1000),
                AllOf(HasSubstr("launch.sh starts train.py"), HasSubstr("2 workers"), HasSubstr("Python 3.11.2"),
                      HasSubstr("PyTorch 1.13.0"), Not(HasSubstr("native"))));
    EXPECT_THAT(wrapped(opening(leak, kScenarioLength, std::nullopt), 1000),
                AllOf(HasSubstr("no CPython 3.10 to 3.15 here"), HasSubstr("4 native processes simulate the job")));
}

TEST(Story, UsesTheVerdictBeforeTheLastKill) {
    const Scenario& crashloop = *find_scenario("crashloop");
    Observation seen = observed(crashloop.top);
    for (Moment& moment : seen) moment.verdict = Verdict::leaking;
    seen.back().verdict = Verdict::insufficient;  // the last run has just begun
    EXPECT_THAT(
        closing(crashloop, seen, kScenarioLength, {}),
        AllOf(HasSubstr("The verdict of memscope before the last kill was leaking"), Not(HasSubstr("did not behave"))));
    for (Moment& moment : seen) moment.verdict = Verdict::stable;
    EXPECT_THAT(closing(crashloop, seen, kScenarioLength, {}), HasSubstr("did not behave"));
}

TEST(Story, EndsWithTheNextCommands) {
    const Scenario& leak = *find_scenario("leak");
    const std::string with = closing(leak, observed(leak.top), kScenarioLength, "/var/lib/x.memscope");
    EXPECT_THAT(with, AllOf(HasSubstr("\n  sudo memscope -- python3 train.py\n"),
                            HasSubstr("\n  sudo memscope report /var/lib/x.memscope\n")));
    EXPECT_THAT(closing(leak, observed(leak.top), kScenarioLength, {}), Not(HasSubstr("memscope report")));
}

TEST(Story, WordsAreWrappedNotCut) {
    EXPECT_EQ(wrapped("aa bb cc", 5), "aa bb\ncc\n");
    EXPECT_EQ(wrapped("aaaaaaa b", 5), "aaaa…\nb\n");
    EXPECT_EQ(wrapped("", 5), "\n");
}

TEST(Observation, ASnapshotWithoutTargetsAddsNothing) {
    Observation seen;
    observe(seen, Snapshot{}, 0);
    EXPECT_TRUE(seen.empty());
}

TEST(Observation, TakesTimeAnonAndTheProcessesThatHoldIt) {
    Snapshot snapshot{.time = 1007.5};
    snapshot.targets.push_back({});
    snapshot.targets[0].memory.by_kind.anon = {10};
    Process holder{.role = Role::trainer};
    holder.task.id.pid = 7;
    holder.task.parent = 3;
    holder.task.memory = AddressSpace{.anon = {20}};
    Process without;  // has no memory
    without.task.id.pid = 8;
    snapshot.targets[0].processes = {holder, without};
    Observation seen;
    observe(seen, snapshot, 1000);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_DOUBLE_EQ(seen[0].at.count(), 7.5);
    EXPECT_EQ(last_of(cgroup_line(seen)).n, 10U);
    EXPECT_EQ(last_of(summed_line(seen)).n, 20U);
    EXPECT_EQ(last_of(role_line(seen, Role::trainer)).n, 20U);
    EXPECT_EQ(last_of(role_line(seen, Role::other)).n, 0U);
}

}  // namespace answers_test
}  // namespace memscope
