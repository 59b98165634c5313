#include "analysis/limits/memory_peak.h"

#include <gtest/gtest.h>

namespace memscope {
namespace memory_peak_test {

constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

MemoryState memory(std::uint64_t peak, std::uint64_t file = 0) {
    MemoryState state;
    state.peak = mib(peak);
    state.by_kind.file = mib(file);
    return state;
}

// The advised room after these ticks, if the highest judged value was 500 MiB.
Bytes room_after(std::initializer_list<MemoryState> ticks) {
    PeakWatch watch;
    TargetSnapshot target;
    for (const MemoryState& tick : ticks) {
        target.memory = tick;
        watch.update(tick);
        target.memory.peak_in_run = watch.reached();
    }
    return room_for(target, mib(500));
}

TEST(MemoryPeak, RaisesTheRoomToAPeakThatRoseWhileWatched) {
    EXPECT_EQ(room_after({memory(520), memory(700)}), mib(700));
    EXPECT_EQ(room_after({memory(520), memory(700), memory(700), memory(700)}), mib(700));
}

TEST(MemoryPeak, IgnoresAPeakFromBeforeWatching) { EXPECT_EQ(room_after({memory(900), memory(900)}), mib(500)); }

TEST(MemoryPeak, IgnoresAPeakWithPageCache) {
    EXPECT_EQ(room_after({memory(520), memory(700, 180)}), mib(500));
    EXPECT_EQ(room_after({memory(520), memory(700), memory(700, 180)}), mib(500)) << "there is page cache now";
    EXPECT_EQ(room_after({memory(520, 200), memory(700), memory(700)}), mib(500))
        << "there was page cache when the mark rose";
}

TEST(MemoryPeak, IgnoresAPeakWithPageCacheAfterTheCacheIsFreed) {
    EXPECT_EQ(room_after({memory(520), memory(800, 300), memory(800), memory(800)}), mib(500));
    EXPECT_EQ(room_after({memory(520), memory(800, 300), memory(800), memory(850)}), mib(850))
        << "the mark rose again without page cache";
}

TEST(MemoryPeak, NeverLowersTheRoom) { EXPECT_EQ(room_after({memory(300), memory(400)}), mib(500)); }

TEST(MemoryPeak, IsIgnoredIfItIncludesOtherJobs) {
    MemoryState shared = memory(700);
    shared.measured_at = "user.slice";
    EXPECT_EQ(room_after({memory(520), shared}), mib(500));
}

TEST(MemoryPeak, WithoutAPeakTheRoomIsUnchanged) { EXPECT_EQ(room_after({MemoryState{}, MemoryState{}}), mib(500)); }

}  // namespace memory_peak_test
}  // namespace memscope
