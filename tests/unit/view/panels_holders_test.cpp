#include <gmock/gmock.h>

#include "analysis/heap/held_objects.h"
#include "example.h"
#include "support/fake_objects.h"
#include "view/panels.h"

namespace memscope::view {
namespace panels_holders_test {

using test::Screen;
using testing::HasSubstr;
using testing::Not;
using Code = Key::Code;

Snapshot with_holders(bool two_censuses) {
    Snapshot snapshot = test::example();
    ProcessHeap heap{.role = {Role::trainer, {}}};
    const HeapCensus before =
        memscope::test::with_objects(300, test::mib(100), memscope::test::outputs_of(10, 1 << 20));
    heap.census = memscope::test::with_objects(900, test::mib(600), memscope::test::outputs_of(510, 1 << 20));
    heap.held = held_objects(heap.census, two_censuses ? &before : nullptr);
    snapshot.targets[0].heap = {heap};
    return snapshot;
}

TEST(ViewHolders, TheKeyOpensAndClosesThePanel) {
    Screen screen(with_holders(true));
    screen.look = {.width = 100, .height = 40};
    screen.type("h");
    EXPECT_THAT(screen.text(), HasSubstr("`__main__.trainer.val_outputs` (list) has grown by 500 tuples and 500 MiB"));
    EXPECT_THAT(screen.text(), HasSubstr("+500 MiB"));
    screen.type("g");
    EXPECT_THAT(screen.text(), HasSubstr("RESIDENT"));
    screen.type("h");
    EXPECT_THAT(screen.text(), HasSubstr("HOLDERS"));
    screen.key(Code::escape);
    EXPECT_THAT(screen.text(), Not(HasSubstr("HOLDERS")));
}

TEST(ViewHolders, OneCensusHasNoChanges) {
    Screen screen(with_holders(false));
    screen.look = {.width = 80, .height = 40};
    screen.type("h");
    EXPECT_THAT(screen.text(), HasSubstr("no change is known yet"));
    EXPECT_THAT(screen.text(), Not(HasSubstr("has grown by")));
}

TEST(ViewHolders, SaysThatThereIsNoCensusYet) {
    Screen screen;
    screen.type("h");
    EXPECT_THAT(screen.text(), HasSubstr("no census of Python objects yet"));
}

}  // namespace panels_holders_test
}  // namespace memscope::view
