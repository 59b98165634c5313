#include "demo/python_actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo/answers.h"
#include "demo/demo.h"
#include "observed.h"

namespace memscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Actor& leaking_trainer() { return find_scenario("leak")->top.children.at(0); }

TEST(PythonActor, OnlyTheLeakHasOne) {
    for (const Scenario& scenario : scenarios())
        EXPECT_EQ(has_python_actor(scenario.top), scenario.name == "leak") << scenario.name;
    EXPECT_TRUE(leaking_trainer().in_python);
}

TEST(PythonActor, TheProgramFollowsTheCurveOfTheActor) {
    auto clock = StageClock::make(2);
    ASSERT_TRUE(clock);
    const std::string program = python_program(leaking_trainer(), *clock, 7);
    EXPECT_THAT(program, AllOf(HasSubstr("CLOCK, READY, SPEED, STEP, BLOCK = " + std::to_string(clock->descriptor()) +
                                         ", 7, 2, 0.25, 262144\n"),
                               HasSubstr("NAME = 'python'\n"), HasSubstr("self.val_outputs.append(")));
    const auto first = leaking_trainer().holds({}).n >> 18U, last = leaking_trainer().holds(kScenarioLength).n >> 18U;
    EXPECT_THAT(program, AllOf(HasSubstr("PLAN = [" + std::to_string(first) + ", "),
                               HasSubstr(", " + std::to_string(last) + "]\n")));
}

TEST(PythonActor, TheClockIsAFileThatOthersCanRead) {
    auto clock = StageClock::make(1);
    ASSERT_TRUE(clock);
    const auto read = [&] {
        std::uint64_t value = 1;
        EXPECT_EQ(::pread(clock->descriptor(), &value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
        return value;
    };
    EXPECT_EQ(read(), 0U);
    clock->begin(4'000'000'000);
    EXPECT_EQ(read(), 4'000'000'000U);
}

TEST(PythonActor, TheAnswerEndsWithTheListThatGrows) {
    Observation seen = observed(find_scenario("leak")->top);
    EXPECT_THAT(leak_answer(seen).text, HasSubstr("no python3 here"));
    seen.back().heap.emplace().python = "3.11";
    EXPECT_THAT(leak_answer(seen).text, AllOf(HasSubstr("No census"), Not(HasSubstr("no python3"))));
    seen.back().holders = "`__main__.trainer.val_outputs` (list) has grown by 900 tuples and 225 MiB in 28 s.";
    const Answer answer = leak_answer(seen);
    EXPECT_TRUE(answer.seen);
    EXPECT_TRUE(answer.text.ends_with("leak in the trainer. " + seen.back().holders)) << answer.text;
}

TEST(PythonActor, TheOpeningSaysWhetherThereIsPython) {
    const Scenario& leak = *find_scenario("leak");
    EXPECT_THAT(opening(leak, kScenarioLength, true), Not(HasSubstr("no Python")));
    EXPECT_THAT(opening(leak, kScenarioLength), HasSubstr("no Python"));
}

}  // namespace
}  // namespace memscope
