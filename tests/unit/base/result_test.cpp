#include "base/result.h"

#include <gtest/gtest.h>
#include <memory>

namespace memscope {
namespace result_test {

TEST(Result, HoldsAValueOrAnError) {
    const Result<int> value(3);
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, 3);
    const Result<int> error(plain_error("it broke"));
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().where, "it broke");
}

TEST(Result, MovesValuesThatCannotBeCopied) {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(4));
    const std::unique_ptr<int> taken = *std::move(result);
    EXPECT_EQ(*taken, 4);
}

TEST(Error, SaysWhatFailedWhyAndWhatToDo) {
    EXPECT_EQ(system_error(ENOENT, "open /a", "make it").message(), "open /a: No such file or directory; make it");
    EXPECT_EQ(system_error(ENOENT, "open /a").message(), "open /a: No such file or directory");
    EXPECT_EQ(plain_error("wrong", "do right").message(), "wrong; do right");
    EXPECT_EQ(plain_error("", "do right").message(), "do right");
}

TEST(Error, IsOneLineForAnyBytes) {
    EXPECT_EQ(plain_error("a\nb\x1b[2J").message(), "a\\nb\\x1b[2J");
    EXPECT_EQ(plain_error("a", "b\nc").message(), "a; b\\nc");
}

}  // namespace result_test
}  // namespace memscope
