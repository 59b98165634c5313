#include <gtest/gtest.h>

#include "sources/proc/process_maps.h"

namespace memscope {
namespace process_maps_ranges_test {

RangeKind kind_of(const std::string& access, const std::string& path) {
    const auto found =
        found_ranges(parse_process_maps("10000-20000 " + access + " 00000000 00:01 5    " + path + "\n"));
    return found.size() == 1 ? found.front().kind : RangeKind::other;
}

TEST(FoundRanges, HaveTheKindThatFollowsFromTheKernelsName) {
    EXPECT_EQ(kind_of("rw-p", ""), RangeKind::anonymous);
    EXPECT_EQ(kind_of("rw-p", "[heap]"), RangeKind::anonymous);
    EXPECT_EQ(kind_of("rw-p", "[anon:libc_malloc]"), RangeKind::anonymous);
    EXPECT_EQ(kind_of("rw-p", "/dev/zero"), RangeKind::anonymous);
    EXPECT_EQ(kind_of("rw-s", "/dev/zero (deleted)"), RangeKind::shared);
    EXPECT_EQ(kind_of("rw-s", "/memfd:queue (deleted)"), RangeKind::shared);
    EXPECT_EQ(kind_of("rw-s", "/dev/shm/torch_1"), RangeKind::shared);
    EXPECT_EQ(kind_of("rw-s", "/SYSV00000000 (deleted)"), RangeKind::attached);
    EXPECT_EQ(kind_of("rw-p", "/dev/shm/torch_1"), RangeKind::file);
    EXPECT_EQ(kind_of("rw-p", "/usr/lib/libc.so.6"), RangeKind::file);
}

TEST(FoundRanges, AFileThatIsSharedMayBeOneOfATmpfs) {
    const auto found = found_ranges(parse_process_maps("10000-20000 rw-s 00000000 00:01 5    /tmp/data\n"));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found.front().shared_file);
    EXPECT_EQ(found.front().range, (AddressRange{0x10000, 0x20000}));
    EXPECT_EQ(found.front().access, (Access{.readable = true, .writable = true}));
}

TEST(FoundRanges, OmitRangesOfTheKernel) {
    for (const char* name : {"[stack]", "[vdso]", "[vvar]", "[vsyscall]"})
        EXPECT_TRUE(found_ranges(parse_process_maps("10000-20000 rw-p 00000000 00:00 0    " + std::string(name) + "\n"))
                        .empty())
            << name;
}

}  // namespace process_maps_ranges_test
}  // namespace memscope
