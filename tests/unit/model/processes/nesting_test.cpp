#include "model/processes/nesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace nesting_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr CgroupId id(std::uint64_t number) { return CgroupId{number}; }

TEST(Nesting, TargetsInsideARemovedTargetMoveToTheEnclosingTarget) {
    Nesting nesting;
    nesting.add(id(1), kNoCgroup);
    nesting.add(id(2), id(1));
    nesting.add(id(3), id(2));
    nesting.add(id(4), id(2));
    nesting.remove(id(2));
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3), id(1)));
    EXPECT_THAT(nesting.around(id(4)), ElementsAre(id(4), id(1)));
    nesting.remove(id(1));
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3)));
    EXPECT_THAT(nesting.around(id(2)), IsEmpty());
    EXPECT_THAT(nesting.around(kNoCgroup), IsEmpty());
}

TEST(Nesting, ATargetThatIsAddedAgainIsMoved) {
    Nesting nesting;
    nesting.add(id(1), kNoCgroup);
    nesting.add(id(2), kNoCgroup);
    nesting.add(id(3), id(1));
    nesting.add(id(3), id(2));
    nesting.remove(id(1));  // it is not inside this target any more
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3), id(2)));
}

}  // namespace nesting_test
}  // namespace memscope
