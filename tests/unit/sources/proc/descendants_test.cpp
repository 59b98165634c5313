#include "sources/proc/descendants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace descendants_test {

using testing::UnorderedElementsAre;

TEST(Descendants, AreFoundInAnyOrder) {
    EXPECT_THAT(
        descendants_of(10, {{{13, 9}, 12}, {{11, 8}, 10}, {{12, 9}, 11}, {{20, 1}, 1}, {{10, 7}, 1}}),
        UnorderedElementsAre(FoundProcess{10, 7}, FoundProcess{11, 8}, FoundProcess{12, 9}, FoundProcess{13, 9}));
}

// The pid of a dead parent was given to a process that is younger than the orphan.
TEST(Descendants, AreNeverOlderThanTheirParent) {
    EXPECT_THAT(descendants_of(10, {{{10, 7}, 1}, {{11, 6}, 10}}), UnorderedElementsAre(FoundProcess{10, 7}));
}

TEST(Descendants, ACycleOfParentsEnds) {
    EXPECT_LE(descendants_of(1, {{{1, 0}, 2}, {{2, 0}, 1}, {{3, 0}, 3}}).size(), 5U);
}

TEST(Descendants, AreReadFromProcWithAnyName) {
    const FakeTree tree{{"proc/10/stat", "10 (sh) S 1 10 10 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 70 4096\n"},
                        {"proc/11/stat", "11 (a) b) (c) S 10 10 10 0 0 0 0 0 0 0 1 1 0 0 20 0 1 0 80 4096\n"},
                        {"proc/12/stat", "12 (x"},
                        {"proc/self/stat", "99 (me) S 10 1 1 0\n"}};
    EXPECT_THAT(read_descendants(tree.root(), 10), UnorderedElementsAre(FoundProcess{10, 70}, FoundProcess{11, 80}));
}

}  // namespace descendants_test
}  // namespace memscope
