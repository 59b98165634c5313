#include "sources/heap/allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/heap/address_claims.h"

namespace memscope {
namespace allocators_test {

ProcessMaps maps_with(std::string_view library) {
    return parse_process_maps("7f0000000000-7f0000001000 r-xp 00000000 08:01 5 " + std::string(library) +
                              "\n7f1000000000-7f1000001000 r-xp 00000000 08:01 6 /lib/libc.so.6\n");
}

GlibcMalloc glibc_with(std::uint64_t system_mem) {
    GlibcMalloc glibc;
    glibc.arenas.resize(1);
    glibc.arenas.front().tail.system_mem = system_mem;
    return glibc;
}

TEST(Allocators, ALibraryServesMallocIfGlibcDoesNot) {
    const GlibcMalloc unused = glibc_with(0);
    EXPECT_EQ(find_allocator(maps_with("/usr/lib/libjemalloc.so.2"), "", &unused), AllocatorName::jemalloc);
    EXPECT_EQ(find_allocator(maps_with("/usr/lib/libtcmalloc_minimal.so.4"), "", nullptr), AllocatorName::tcmalloc);
    EXPECT_EQ(find_allocator(maps_with("/opt/libmimalloc.so.2.0"), "", nullptr), AllocatorName::mimalloc);
    EXPECT_EQ(find_allocator(maps_with("/usr/lib/libm.so.6"), "", &unused), AllocatorName::unknown);
}

TEST(Allocators, ALibraryThatIsOnlyLoadedDoesNotServeMalloc) {
    const GlibcMalloc used = glibc_with(1 << 20);
    EXPECT_EQ(find_allocator(maps_with("/usr/lib/libjemalloc.so.2"), "", &used), AllocatorName::glibc);
    EXPECT_EQ(find_allocator(maps_with("/usr/lib/libm.so.6"), "", &used), AllocatorName::glibc);
}

TEST(Allocators, APreloadedLibraryServesMallocEvenIfGlibcWasUsedBefore) {
    using namespace std::string_view_literals;
    const GlibcMalloc used = glibc_with(1 << 20);
    const auto maps = maps_with("/usr/lib/libjemalloc.so.2");
    EXPECT_EQ(find_allocator(maps, "A=1\0LD_PRELOAD=/opt/libjemalloc.so\0B=2"sv, &used), AllocatorName::jemalloc);
    EXPECT_EQ(find_allocator(maps, "XLD_PRELOAD=/opt/libjemalloc.so\0LD_PRELOAD=/opt/other.so"sv, &used),
              AllocatorName::glibc);
}

TEST(Allocators, LibrariesAreKnownByTheirNames) {
    EXPECT_THAT(c_library_paths(maps_with("/x/libc.so.6.1")), testing::ElementsAre("/x/libc.so.6.1", "/lib/libc.so.6"));
    EXPECT_THAT(thread_library_paths(maps_with("/lib/ld-2.31.so")),
                testing::ElementsAre("/lib/ld-2.31.so", "/lib/libc.so.6"));
}

TEST(AddressClaims, NoAddressHasTwoOwners) {
    AddressClaims claims;
    EXPECT_TRUE(claims.add({100, 200}, HeapOwner::arena));
    for (const HeapRange& range : {HeapRange{100, 200}, {150, 160}, {50, 101}, {199, 300}, {50, 300}, {120, 120}})
        EXPECT_FALSE(claims.add(range, HeapOwner::stack));
    EXPECT_TRUE(claims.add({200, 300}, HeapOwner::python));
    EXPECT_TRUE(claims.add({0, 100}, HeapOwner::stack));
    EXPECT_THAT(claims.ranges(), testing::ElementsAre(HeapRange{0, 100}, HeapRange{100, 200}, HeapRange{200, 300}));
}

TEST(AddressClaims, TheRestOfAMappingHasNoOwner) {
    AddressClaims claims;
    claims.add({0x2000, 0x3000}, HeapOwner::arena);
    claims.add({0x5000, 0x9000}, HeapOwner::stack);
    const PresentPages pages({{0x1000, 0x4000}, {0x6000, 0x7000}, {0x8000, 0xa000}});
    EXPECT_EQ(claims.unclaimed({0x1000, 0xa000}, pages), 0x3000U);
    EXPECT_EQ(claims.unclaimed({0x2000, 0x3000}, pages), 0U);
    EXPECT_EQ(claims.unclaimed({0x8000, 0xa000}, pages), 0x1000U);
}

}  // namespace allocators_test
}  // namespace memscope
