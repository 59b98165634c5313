#include "sources/heap/library_bss.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <unistd.h>

extern char _end;  // of .bss, from the linker

namespace memscope {
namespace library_bss_test {

char in_bss[1 << 20];

std::uint64_t address_of(const char* object) { return reinterpret_cast<std::uint64_t>(object); }

TEST(LibraryBss, EndsWhereTheProgramHeadersSayAlsoInAMergedMapping) {
    char* const inside = in_bss + sizeof in_bss / 2;  // its first page can be the last page of the file
    *inside = 1;                                      // the kernel makes the mapping, and the compiler keeps the array
    ProcessMaps maps = *read_process_maps(SysRoot{}, ::getpid());
    const auto contains = [&](const MappedRange& range) {
        return range.start <= address_of(inside) && address_of(inside) < range.end;
    };
    const auto bss = std::ranges::find_if(maps.ranges, contains);
    ASSERT_NE(bss, maps.ranges.end());
    ASSERT_EQ(bss->inode, 0U) << "behind the last page of the file";
    const std::uint64_t end = bss->end;
    bss->end += 1 << 20;  // as if an arena had been mapped there
    maps.ranges.erase(bss + 1, maps.ranges.end());

    const ProcessMaps named = name_bss(maps, SysRoot{}, ::getpid());
    const auto found = std::ranges::find_if(named.ranges, contains);
    ASSERT_NE(found, named.ranges.end());
    EXPECT_EQ(found->path, kBss);
    EXPECT_EQ(found->end, end);
    EXPECT_GE(found->end, address_of(&_end));
    ASSERT_NE(found + 1, named.ranges.end());
    EXPECT_EQ((found + 1)->path, "");
    EXPECT_EQ((found + 1)->start, end);
    EXPECT_EQ((found + 1)->end, end + (1 << 20));
}

TEST(LibraryBss, AMappingBehindAFileThatCannotBeReadIsTakenAsAWhole) {
    const MappedRange data{.start = 0x10000,
                           .end = 0x20000,
                           .readable = true,
                           .writable = true,
                           .inode = 7,
                           .path = "/no/such/library.so"};
    const MappedRange behind{.start = 0x20000, .end = 0x30000, .readable = true, .writable = true};
    const ProcessMaps named = name_bss({.ranges = {data, behind}}, SysRoot{}, ::getpid());
    ASSERT_EQ(named.ranges.size(), 2U);
    EXPECT_EQ(named.ranges[1].path, kBss);
    EXPECT_EQ(named.ranges[1].end, 0x30000U);
}

}  // namespace library_bss_test
}  // namespace memscope
