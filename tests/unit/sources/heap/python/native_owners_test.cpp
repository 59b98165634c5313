#include "sources/heap/python/native_owners.h"

#include <gtest/gtest.h>

#include "support/fake_python.h"

namespace memscope {
namespace native_owners_test {

// A process with an object of a C type, `__main__.image`, whose first field points to `block`.
struct FakeOwner : FakePython {
    FakeOwner() {
        use_pools();
        type = add_type("Image", 0, 32, 0);
    }
    std::uint64_t owner_of(std::uint64_t block) {
        const std::uint64_t owner = object(type, 32);
        pages.put(owner + 16, block);
        return owner;
    }
    void hold(std::uint64_t held) { set_modules({{"__main__", module({{"image", list({held})}})}}); }
    std::uint64_t type = 0;
};

const Holder* holder(const ObjectCensus& census, std::string_view path) {
    for (const Holder& each : census.holders)
        if (each.path == path) return &each;
    return nullptr;
}

TEST(NativeOwners, AnObjectRetainsTheBlocksThatItRefersTo) {
    FakeOwner python;
    const std::uint64_t pixels = python.native(300'000);
    python.hold(python.owner_of(python.native(64, {0, pixels})));
    const ObjectCensus census = python.census();
    const Holder* images = holder(census, "__main__.image");
    ASSERT_TRUE(images);
    EXPECT_GT(images->retained.n, 300'000U);
    EXPECT_LT(images->retained.n, 310'000U);
    ASSERT_TRUE(census.owners);
    EXPECT_EQ(census.owners->attributed, census.owners->live);
    EXPECT_EQ(census.owners->read, 1);
    ASSERT_TRUE(census.native_unreached);
    EXPECT_EQ(census.native_unreached->blocks, 0U);
}

// The objects that were left out can hold it.
TEST(NativeOwners, NothingIsLostOrUnexplainedIfObjectsWereLeftOut) {
    FakeOwner python;
    for (int i = 0; i < 10; ++i) python.native(5'000);
    python.pages.put(python.list({python.number()}), 7);
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 60'000; ++i) rows.push_back(python.tuple({python.number()}));
    python.hold(python.list(rows));
    const ObjectCensus all = python.census();
    ASSERT_TRUE(all.native_unreached);
    EXPECT_EQ(all.native_unreached->blocks, 10U);
    EXPECT_EQ(all.unexplained.size(), 1U);
    const ObjectCensus part = python.census(std::uint64_t{15} << 20);
    ASSERT_LT(part.sampled, 1);
    EXPECT_FALSE(part.native_unreached);
    EXPECT_TRUE(part.unexplained.empty());
}

TEST(NativeOwners, AnObjectWhoseMemoryIsMostlyThatOfNativeCodeIsANativeHolder) {
    FakeOwner python;
    const std::uint64_t bytes_type = python.add_type("bytes", 1U << 27U, 33, 1);
    const std::uint64_t text = python.object(bytes_type, 33 + 200'000);
    python.pages.put(text + 16, std::uint64_t{200'000});
    const std::uint64_t image = python.owner_of(python.native(64, {0, python.native(300'000)}));
    const std::uint64_t record = python.owner_of(python.native(100'000));
    python.pages.put(record + 24, text);
    const std::uint64_t images = python.list({python.owner_of(python.native(300'000))});
    python.set_modules({{"__main__", python.module({{"image", image}, {"record", record}, {"images", images}})}});
    const ObjectCensus census = python.census();
    const auto kind_of = [&](std::string_view path) {
        const Holder* found = holder(census, path);
        return found != nullptr ? std::optional(found->kind) : std::nullopt;
    };
    EXPECT_EQ(kind_of("__main__.image"), HolderKind::native);
    EXPECT_EQ(kind_of("__main__.record"), HolderKind::object) << "most of its memory is an object of Python";
    EXPECT_EQ(kind_of("__main__.images"), HolderKind::container);
}

TEST(NativeOwners, BlocksThatNothingRefersToAreLost) {
    FakeOwner python;
    python.hold(python.owner_of(python.native(64)));
    for (int i = 0; i < 50; ++i) (void)python.native(40, {0, python.native(5000)});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.native_unreached);
    EXPECT_EQ(census.native_unreached->blocks, 100U);
    EXPECT_GT(census.native_unreached->bytes.n, 50 * 5040U);
    ASSERT_FALSE(census.native_unreached->groups.empty());
    const NativeGroup& group = census.native_unreached->groups.front();
    EXPECT_EQ(group.blocks, 50U) << "only the blocks that hold the others";
    EXPECT_EQ(group.size.n, 40U);
    EXPECT_EQ(group.bytes, census.native_unreached->bytes);
    EXPECT_LT(census.owners->attributed.n, census.owners->live.n / 10);
}

TEST(NativeOwners, TheDocumentationOfAClassIsNotLost) {
    FakeOwner python;
    const std::uint64_t made = python.add_type("Made", FakePython::kHeapType, 32, 0);
    python.pages.put(made + 176, python.native(5000));
    python.set_modules({{"__main__", python.module({{"Made", made}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.native_unreached);
    EXPECT_EQ(census.native_unreached->blocks, 0U);
}

TEST(NativeOwners, BlocksThatOnlyReferToEachOtherAreLost) {
    FakeOwner python;
    python.hold(python.owner_of(python.native(64)));
    const std::uint64_t first = python.native(1000), second = python.native(1000, {first});
    python.pages.put(first, second);
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.native_unreached);
    EXPECT_EQ(census.native_unreached->blocks, 2U);
}

TEST(NativeOwners, TheDataOfALibraryOwnsWhatItRefersTo) {
    FakeOwner python;
    python.hold(python.owner_of(python.native(64)));
    const std::uint64_t cache = python.native(64, {python.native(200'000)});
    python.pages.put(FakePython::kStatics + FakePython::kStaticBytes - 64, cache);
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.native_unreached && census.owners);
    EXPECT_EQ(census.native_unreached->blocks, 0U);
    EXPECT_EQ(census.owners->attributed, census.owners->live);
}

// A word that is an address by chance, in a field that has other values in most blocks of the same kind.
TEST(NativeOwners, AFieldThatIsMostlyNoPointerKeepsNothing) {
    FakeOwner python;
    const std::uint64_t lost = python.native(70'000);
    std::vector<std::uint64_t> owners;
    for (std::uint64_t i = 0; i < 200; ++i)
        owners.push_back(python.owner_of(python.native(64, {0, i == 60 ? lost : 0x3ff0'1234'5678'0000 + i})));
    python.hold(python.list(owners));
    const ObjectCensus census = python.census();
    const Holder* images = holder(census, "__main__.image");
    ASSERT_TRUE(images && census.owners);
    EXPECT_LT(images->retained.n, 70'000U);
    EXPECT_GE(census.owners->probable.n, 70'000U) << "only an uncertain word refers to it";
    EXPECT_EQ(census.native_unreached->blocks, 0U);
}

TEST(NativeOwners, WhatTwoObjectsShareCountsForTheObjectThatHoldsBoth) {
    FakeOwner python;
    const std::uint64_t shared = python.native(400'000);
    const std::uint64_t a = python.list({python.owner_of(python.native(64, {shared}))});
    const std::uint64_t b = python.list({python.owner_of(python.native(64, {shared}))});
    python.hold(python.list({a, b}));
    const ObjectCensus census = python.census();
    const Holder *both = holder(census, "__main__.image[0]"), *one = holder(census, "__main__.image[0][0]");
    ASSERT_TRUE(both && one);
    EXPECT_GT(both->retained.n, 400'000U);
    EXPECT_LT(one->retained.n, 400'000U);
}

TEST(NativeOwners, WithoutAListOfBlocksNothingIsSaid) {
    FakePython python;
    python.set_modules({{"__main__", python.module({{"x", python.list({python.number()})}})}});
    const ObjectCensus census = python.census();
    EXPECT_FALSE(census.owners);
    EXPECT_FALSE(census.native_unreached);
}

}  // namespace native_owners_test
}  // namespace memscope
