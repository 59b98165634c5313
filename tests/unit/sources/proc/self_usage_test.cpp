#include "sources/proc/self_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace self_usage_test {

TEST(Self, IsReadFromProc) {
    FakeTree tree{{"proc/self/stat", "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 7 0 500 8192000 500\n"},
                  {"proc/self/statm", "2000 300 100 1 0 50 0\n"},
                  {"proc/self/limits",
                   "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024       524288     files\n"},
                  {"proc/self/fd/0", ""},
                  {"proc/self/fd/1", ""},
                  {"proc/self/fd/2", ""},
                  {"proc/self/fd/3", ""},
                  {"proc/self/fd/4", ""},
                  {"proc/stat", "cpu 1 2\nintr 5 5\nbtime 1700000000\n"}};
    const auto self = read_self(tree.root());
    ASSERT_TRUE(self) << self.error().message();
    const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    EXPECT_DOUBLE_EQ(self->cpu.count(), 200 / ticks);
    EXPECT_EQ(self->resident, Bytes{300 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))});
    EXPECT_EQ(self->virtual_size, Bytes{8192000});
    EXPECT_EQ(self->threads, 7U);
    EXPECT_EQ(self->max_open_files, 1024U);
    EXPECT_EQ(self->open_files, 3U) << "without the two descriptors that the count itself opens";
    EXPECT_DOUBLE_EQ(self->start_time, 1700000000 + 500 / ticks);
    tree.remove("proc/stat");
    EXPECT_FALSE(read_self(tree.root()));
    const auto later = read_self(tree.root(), *self);
    ASSERT_TRUE(later) << "the slow parts are known";
    EXPECT_DOUBLE_EQ(later->start_time, self->start_time);
    EXPECT_EQ(later->open_files, 3U);
    EXPECT_EQ(later->max_open_files, 1024U);
}

TEST(Self, OfThisProcessIsPlausible) {
    const auto before = read_self({});
    ASSERT_TRUE(before) << before.error().message();
    const int extra = ::dup(0);
    EXPECT_EQ(read_self({})->open_files, before->open_files + (extra >= 0 ? 1 : 0));
    if (extra >= 0) ::close(extra);
    EXPECT_GT(before->resident, Bytes{1 << 20});
    EXPECT_GE(before->virtual_size, before->resident);
    EXPECT_GT(before->start_time, 1.6e9);
}

}  // namespace self_usage_test
}  // namespace memscope
