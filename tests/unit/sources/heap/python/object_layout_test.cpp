#include "sources/heap/python/object_layout.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace memscope {
namespace object_layout_test {

constexpr std::uint64_t kRuntime = 0x5555'0000'0000;

// A process with the table of offsets of a CPython 3.15.2 at the beginning of its _PyRuntime.
struct FakeRuntime {
    FakeRuntime() {
        MappedRange data;
        data.start = kRuntime;
        data.end = kRuntime + 0x10000;
        data.readable = data.writable = true;
        data.inode = 7;
        data.path = "/usr/bin/python3.15";
        maps.ranges.push_back(data);
        const std::pair<std::uint64_t, std::uint64_t> words[] = {{0, 0x7970677562656478},
                                                                 {1, 0x030f02f0},
                                                                 {5, 936},
                                                                 {8, 7264},
                                                                 {9, 7336},
                                                                 {12, 7592},
                                                                 {24, 8},
                                                                 {26, 72},
                                                                 {28, 88},
                                                                 {31, 184},
                                                                 {40, 8},
                                                                 {42, 56},
                                                                 {43, 80},
                                                                 {44, 74},
                                                                 {48, 112},
                                                                 {49, 120},
                                                                 {50, 128},
                                                                 {51, 136},
                                                                 {52, 68},
                                                                 {56, 208},
                                                                 {69, 32},
                                                                 {87, 16},
                                                                 {88, 32},
                                                                 {90, 32},
                                                                 {91, 16},
                                                                 {92, 40}};
        for (std::uint64_t i = 0; i < 96; ++i) put(i, 0);
        for (const auto& [index, value] : words) put(index, value);
    }
    void put(std::uint64_t index, std::uint64_t value) { pages.put(kRuntime + 8 * index, value); }
    ObjectLayoutSearch find(std::optional<int> version = std::nullopt) {
        HeapCopy copy(pages, maps, std::uint64_t{1} << 22, deadline);
        return find_object_layout(copy, kRuntime, version);
    }
    FakePages pages{};
    ProcessMaps maps{};
    ReadDeadline deadline{Seconds{60}};
};

TEST(ObjectLayout, OfVersion315IsReadFromItsTable) {
    FakeRuntime runtime;
    const ObjectLayoutSearch search = runtime.find();
    ASSERT_EQ(search.refusal, ObjectsRefusal::none);
    EXPECT_EQ(search.layout.version, 315);
    EXPECT_EQ(search.layout.stack.runtime, kRuntime);
    EXPECT_EQ(search.layout.interpreter_modules, 7592U);
    EXPECT_EQ(search.layout.frame_locals, 80U);
    EXPECT_EQ(search.layout.type_keys, 888U) << "types have a word more than in 3.14";
    EXPECT_EQ(search.layout.module_state_size, 56U) << "modules have the size of their state themselves";
}

TEST(ObjectLayout, OfATableWithOtherFramesOrTuplesIsRefused) {
    for (const std::uint64_t index : {43, 69}) {
        FakeRuntime runtime;
        runtime.put(index, 88);
        EXPECT_EQ(runtime.find().refusal, ObjectsRefusal::version);
    }
}

TEST(ObjectLayout, OfAnOldVersionIsBuiltIn) {
    FakeRuntime runtime;
    runtime.put(0, 0);
    EXPECT_EQ(runtime.find(311).layout.interpreter_modules, 888U);
    EXPECT_EQ(runtime.find(313).refusal, ObjectsRefusal::not_found) << "its table is not there";
    EXPECT_EQ(runtime.find().refusal, ObjectsRefusal::version);
}

}  // namespace object_layout_test
}  // namespace memscope
