#include "view/tree.h"

#include <gmock/gmock.h>

#include "example.h"

namespace memscope::view {
namespace tree_test {

using test::example;
using test::mib;
using test::Screen;
using testing::ElementsAre;
using testing::HasSubstr;
using Code = Key::Code;

TEST(Tree, TheLargestRoleAndProcessStandFirst) {
    EXPECT_THAT(Screen().names(),
                ElementsAre("trainer", "101", "dataloader_worker", "111", "110", "112", "launcher", "100"));
}

TEST(Tree, SortCyclesThroughSizeGrowthNamePid) {
    Screen screen;
    Snapshot next = example(1001);
    next.targets[0].processes[4].task.memory->anon += mib(500);  // 112
    test::count_roles(next.targets[0]);
    screen.tick(next);
    screen.type("s");
    EXPECT_THAT(screen.names(),
                ElementsAre("dataloader_worker", "112", "110", "111", "launcher", "100", "trainer", "101"));
    screen.type("s");
    EXPECT_THAT(screen.names(),
                ElementsAre("dataloader_worker", "110", "111", "112", "launcher", "100", "trainer", "101"));
    screen.type("s");
    EXPECT_THAT(screen.names(),
                ElementsAre("launcher", "100", "trainer", "101", "dataloader_worker", "110", "111", "112"));
    EXPECT_THAT(screen.text(), HasSubstr("sort: pid"));
    screen.type("s");
    EXPECT_THAT(screen.text(), HasSubstr("sort: size"));
}

TEST(Tree, FoldingHidesTheProcessesOfTheRole) {
    Screen screen;
    screen.key(Code::enter);
    EXPECT_THAT(screen.names(), ElementsAre("trainer", "dataloader_worker", "111", "110", "112", "launcher", "100"));
    screen.type(" ");
    EXPECT_EQ(screen.names().size(), 8);
}

TEST(Tree, FoldingFromAProcessLeavesTheSelectionOnItsRole) {
    Screen screen;
    for (int i = 0; i < 4; ++i) screen.key(Code::down);
    EXPECT_EQ(screen.selected(), "110");
    screen.key(Code::left);
    EXPECT_EQ(screen.selected(), "dataloader_worker");
    EXPECT_EQ(screen.names().size(), 5);
    screen.key(Code::left);  // folded already
    EXPECT_EQ(screen.names().size(), 5);
    screen.key(Code::right);
    EXPECT_EQ(screen.names().size(), 8);
    EXPECT_EQ(screen.selected(), "dataloader_worker");
}

TEST(Tree, ALargeRoleIsFoldedUntilTheUserOpensIt) {
    Snapshot snapshot = example();
    for (int i = 0; i < 20; ++i)
        snapshot.targets[0].processes.push_back(test::process(200 + i, Role::compile_worker, "c", "c", mib(9000)));
    test::count_roles(snapshot.targets[0]);
    Screen screen(snapshot);
    EXPECT_THAT(screen.names(), testing::Not(testing::Contains("200")));
    screen.key(Code::right);
    EXPECT_EQ(screen.names()[1], "200");
    screen.tick(snapshot);
    EXPECT_EQ(screen.names()[1], "200");
}

TEST(Tree, TheFilterMatchesCommCommandAndRole) {
    Screen screen;
    screen.type("/TORCHRUN");
    EXPECT_THAT(screen.names(), ElementsAre("launcher", "100"));
    EXPECT_THAT(screen.text(), HasSubstr("/TORCHRUN"));
    screen.key(Code::escape);
    EXPECT_EQ(screen.names().size(), 8);
    screen.type("/loader_w");
    EXPECT_THAT(screen.names(), ElementsAre("dataloader_worker", "111", "110", "112"));
    for (int i = 0; i < 8; ++i) screen.key(Code::backspace);
    screen.type("-u train");
    EXPECT_THAT(screen.names(), ElementsAre("trainer", "101", "dataloader_worker", "111", "110", "112"));
    screen.key(Code::enter);
    EXPECT_FALSE(screen.state.typing);
    EXPECT_THAT(screen.text(), HasSubstr("filter: -u train"));
    screen.key(Code::escape);
    EXPECT_EQ(screen.names().size(), 8);
}

TEST(Tree, KeysAreTextWhileTheFilterIsTyped) {
    Screen screen;
    EXPECT_NE(screen.type("/qs?"), Reaction::quit);
    EXPECT_EQ(screen.state.filter, "qs?");
    EXPECT_FALSE(screen.state.help);
    EXPECT_THAT(screen.text(), HasSubstr("nothing matches the filter"));
    screen.key(Code::down);
    press(screen.state, {Code::character, "語"}, screen.snapshot, screen.scene);
    screen.key(Code::backspace);
    EXPECT_EQ(screen.state.filter, "qs?");
    for (int i = 0; i < 100; ++i) screen.type("xxxx");
    EXPECT_LE(screen.state.filter.size(), 64);
    for (int i = 0; i < 100; ++i) screen.key(Code::backspace);
    EXPECT_FALSE(screen.state.typing);
}

TEST(Tree, AFilterShowsMatchesInAFoldedRoleUntilItIsCleared) {
    Screen screen;
    screen.key(Code::left);  // the trainer
    screen.type("/train.py");
    EXPECT_THAT(screen.names(), testing::Contains("101"));
    screen.key(Code::escape);
    EXPECT_THAT(screen.names(), testing::Not(testing::Contains("101")));
}

TEST(Tree, RanksAreShownSeparatelyOrTogether) {
    Snapshot snapshot = example();
    snapshot.targets[0].processes[1].rank = 0;
    snapshot.targets[0].processes.push_back(test::process(102, Role::trainer, "python3", "python3", mib(1024)));
    snapshot.targets[0].processes.back().rank = 1;
    test::count_roles(snapshot.targets[0]);
    Screen screen(snapshot);
    EXPECT_EQ(screen.names().size(), 10);
    EXPECT_THAT(screen.text(), HasSubstr("trainer 1"));
    screen.type("r");
    EXPECT_EQ(screen.names().size(), 9);
    EXPECT_THAT(screen.text(), testing::Not(HasSubstr("trainer 1")));
    EXPECT_THAT(screen.text(), HasSubstr(" 32G"));  // both
    const Series series = own_series(screen.snapshot.targets[0], screen.history, {Role::trainer, {}}, false);
    EXPECT_EQ(series.values, std::vector<std::uint64_t>{mib(32 * 1024).n});
}

TEST(Tree, TheSelectionFollowsItsProcessWhenRowsMove) {
    Screen screen;
    screen.key(Code::down);
    EXPECT_EQ(screen.selected(), "101");
    Snapshot next = example(1001);
    next.targets[0].processes[3].task.memory->anon = mib(90000);
    test::count_roles(next.targets[0]);
    screen.tick(next);
    EXPECT_EQ(screen.names()[0], "dataloader_worker");
    EXPECT_EQ(screen.selected(), "101");
}

TEST(Tree, WithoutAChoiceTheFirstRowIsSelected) {
    Screen screen;
    EXPECT_EQ(screen.selected(), "trainer");
    Snapshot next = example(1001);
    next.targets[0].processes[3].task.memory->anon = mib(90000);
    test::count_roles(next.targets[0]);
    screen.tick(next);
    EXPECT_EQ(screen.selected(), "dataloader_worker");
}

TEST(Tree, WhenTheSelectedProcessIsGoneItsNeighbourIsSelected) {
    Screen screen;
    screen.key(Code::end);
    EXPECT_EQ(screen.selected(), "100");
    Snapshot next = example(1001);
    next.targets[0].processes.erase(next.targets[0].processes.begin());
    test::count_roles(next.targets[0]);
    screen.tick(next);
    EXPECT_EQ(screen.selected(), "112");
    Snapshot empty = example(1002);
    empty.targets[0].processes.clear();
    test::count_roles(empty.targets[0]);
    screen.tick(empty);
    EXPECT_EQ(screen.selected(), "");
    EXPECT_THAT(screen.text(), HasSubstr("no processes"));
    for (const Code code : {Code::up, Code::end, Code::enter, Code::left, Code::page_down}) screen.key(code);
}

TEST(Tree, ARoleWhoseProcessesEndedKeepsItsRow) {
    Screen screen;
    Snapshot next = example(1001);
    next.targets[0].processes.resize(2);
    next.targets[0].roles.erase({Role::dataloader_worker, std::nullopt});
    next.targets[0].counters[{Role::dataloader_worker, std::nullopt}] = {.starts = 3, .exits = 3};
    screen.tick(next);
    EXPECT_THAT(screen.text(), HasSubstr("×0 -3"));
}

}  // namespace tree_test
}  // namespace memscope::view
