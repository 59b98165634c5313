#include "sources/proc/process_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace memscope {
namespace process_maps_test {

using testing::IsEmpty;
using testing::SizeIs;

MappedRange only(std::string_view text) {
    const auto maps = parse_process_maps(text);
    EXPECT_THAT(maps.ranges, SizeIs(1)) << text;
    return maps.ranges.empty() ? MappedRange{} : maps.ranges.front();
}

TEST(ProcessMaps, ALineHasRangeAccessAndFile) {
    const MappedRange expected{.start = 0xffff9c000000,
                               .end = 0xffff9c021000,
                               .readable = true,
                               .executable = true,
                               .offset = 0x1a000,
                               .dev_major = 0xfe,
                               .dev_minor = 0x10,
                               .inode = 1234,
                               .path = "/usr/lib/libc.so.6"};
    EXPECT_EQ(only("ffff9c000000-ffff9c021000 r-xp 0001a000 fe:10 1234                       /usr/lib/libc.so.6\n"),
              expected);
}

TEST(ProcessMaps, MemoryWithoutAFileHasNoPathOrOneInBrackets) {
    const auto maps = parse_process_maps(
        "1000-2000 rw-p 00000000 00:00 0 \n"
        "2000-3000 rw-s 00000000 00:00 0          [anon:cuda heap]\n");
    ASSERT_THAT(maps.ranges, SizeIs(2));
    EXPECT_THAT(maps.ranges[0].path, IsEmpty());
    EXPECT_FALSE(maps.ranges[0].shared);
    EXPECT_EQ(maps.ranges[1].path, "[anon:cuda heap]");
    EXPECT_TRUE(maps.ranges[1].shared);
}

TEST(ProcessMaps, OnlyANewlineIsEscapedInAPath) {
    EXPECT_EQ(only(R"(1000-2000 r--p 00000000 08:01 7 /a b\012c\040d\x)").path, "/a b\nc\\040d\\x");
}

TEST(ProcessMaps, ADeletedFileIsMarkedAndKeepsItsPath) {
    const auto range = only("1000-2000 r-xp 00000000 08:01 7 /tmp/a (deleted)\n");
    EXPECT_EQ(range.path, "/tmp/a");
    EXPECT_TRUE(range.deleted);
    EXPECT_FALSE(only("1000-2000 r-xp 00000000 00:00 0 [anon:x (deleted)\n").deleted);
}

TEST(ProcessMaps, IgnoresInvalidLines) {
    for (const std::string_view line :
         {"", "-", "x", "1000-2000", "2000-1000 r-xp 0 0:0 0", "1000-1000 r-xp 0 0:0 0", "1000-2000 r-x 0 0:0 0",
          "1000-2000 r-xp 0 0 0", "1000-2000 r-xp g 0:0 0", "1000-11112222333344445 r-xp 0 0:0 0",
          "1000-2000 r-xp 0 0:fffffffff 0", "1000-2000 r-xp 0 0:0 1f", "+1000-2000 r-xp 0 0:0 1"})
        EXPECT_THAT(parse_process_maps(line).ranges, IsEmpty()) << line;
}

TEST(ProcessMaps, RangesAreSortedAndDoNotOverlap) {
    const auto maps = parse_process_maps(
        "2000-4000 r--p 0 0:0 0\n3000-5000 r--p 0 0:0 0\n1000-2000 r--p 0 0:0 0\n"
        "4000-5000 r--p 0 0:0 0\n");
    ASSERT_THAT(maps.ranges, SizeIs(2));
    EXPECT_EQ(maps.ranges[1].start, 0x4000U);
}

TEST(ProcessMaps, AnAddressIsInTheRangeThatHoldsIt) {
    const auto maps = parse_process_maps("1000-2000 r--p 0 0:0 0\n2000-3000 rw-p 0 0:0 0\n5000-6000 r--p 0 0:0 0\n");
    EXPECT_EQ(maps.at(0xfff), nullptr);
    EXPECT_EQ(maps.at(0x1000), &maps.ranges[0]);
    EXPECT_EQ(maps.at(0x2000), &maps.ranges[1]);
    EXPECT_EQ(maps.at(0x3000), nullptr);
    EXPECT_EQ(maps.at(0x5fff), &maps.ranges[2]);
    EXPECT_EQ(maps.at(~std::uint64_t{0}), nullptr);
    EXPECT_EQ(ProcessMaps{}.at(0), nullptr);
}

TEST(ProcessMaps, TooManyRangesAreCutOffAndItIsSaid) {
    std::string text;
    for (std::size_t i = 0; i <= kMapsRangeLimit; ++i) {
        char line[64];
        std::snprintf(line, sizeof line, "%zx-%zx r--p 0 0:0 0\n", (i + 1) << 12U, (i + 2) << 12U);
        text += line;
    }
    const auto maps = parse_process_maps(text);
    EXPECT_THAT(maps.ranges, SizeIs(kMapsRangeLimit));
    EXPECT_TRUE(maps.truncated);
}

TEST(ProcessMaps, ThisProcessHasItsOwnCodeInThem) {
    const auto maps = read_process_maps(SysRoot{}, ::getpid());
    ASSERT_TRUE(maps) << maps.error().message();
    const MappedRange* code = maps->at(reinterpret_cast<std::uint64_t>(&only));
    ASSERT_NE(code, nullptr);
    EXPECT_TRUE(code->executable);
    EXPECT_EQ(code->path, std::filesystem::read_symlink("/proc/self/exe").native());
    EXPECT_FALSE(maps->truncated);
}

TEST(ProcessMaps, AProcessThatIsGoneIsAnError) { EXPECT_FALSE(read_process_maps(SysRoot{.proc = "/nowhere"}, 1)); }

}  // namespace process_maps_test
}  // namespace memscope
