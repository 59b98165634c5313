#include "review/replay.h"

#include <gmock/gmock.h>

#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace replay_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;

// 300 ticks, one a second. Tick i holds i MiB.
struct AReplay : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path path = recorded_run(tree.at("state"), "train", 300, [](int i) { return Bytes{kMiB * unsigned(i)}; });

    static void add_event(recording::RecordingFile& file, double at, const char* kind, const char* text) {
        EXPECT_TRUE(file.add_event(1, Seconds(50 + at), 1'000'000 + at, kind, text));
    }
    using RecordingFile = recording::RecordingFile;
    // The same with events.
    fs::path with_events() {
        RecordingStore store = store_in(tree.at("state"));
        auto made = store.create("eventful", 1'000'000);
        const fs::path file = made->path;
        auto writer = RecordingFile::create(*std::move(made), {{"begin", "1000000"}}, Seconds{50});
        const auto id = writer->add_target({.name = "train"});
        for (int i = 0; i < 100; ++i) {
            const Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB});
            EXPECT_TRUE(writer->add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
            if (i == 20) add_event(*writer, i, "verdict", "stable: it is");
            if (i == 20) add_event(*writer, i, "notice", "is stable");
            if (i == 60) add_event(*writer, 60.5, "death", "oom_kill: 1 python3");
        }
        EXPECT_TRUE(writer->close());
        return file;
    }
    static Replay opened(const fs::path& file) {
        Recording recording = reopened(file);
        auto target = recording.target({});
        auto replay = Replay::open(std::move(recording), *std::move(target));
        EXPECT_TRUE(replay) << (replay ? "" : replay.error().message());
        return *std::move(replay);
    }
    static std::vector<std::uint64_t> mib(const Replay::Frame& frame) {
        std::vector<std::uint64_t> sizes;
        for (const SnapshotPtr& tick : frame.ticks) sizes.push_back(tick->targets.front().memory.usage.n / kMiB);
        return sizes;
    }
};

TEST_F(AReplay, ShowsEachTickWhenItsTimeHasCome) {
    Replay replay = opened(path);
    EXPECT_THAT(mib(*replay.take_frame()), ElementsAre(0));
    EXPECT_EQ(replay.until_next(), Seconds{1});
    replay.advance(Seconds{0.5});
    EXPECT_THAT(replay.take_frame()->ticks, IsEmpty());
    replay.advance(Seconds{0.5});
    const auto frame = replay.take_frame();
    EXPECT_THAT(mib(*frame), ElementsAre(1));
    EXPECT_FALSE(frame->jumped);
    EXPECT_DOUBLE_EQ(replay.time(), 1'000'001);
}

TEST_F(AReplay, ShowsAllTicksOfAFastReplayInOrder) {
    Replay replay = opened(path);
    (void)replay.take_frame();
    replay.set_speed(4);
    replay.advance(Seconds{1});
    EXPECT_THAT(mib(*replay.take_frame()), ElementsAre(1, 2, 3, 4));
}

TEST_F(AReplay, HasEarlierTicksAfterAJump) {
    Replay replay = opened(path);
    (void)replay.take_frame();
    replay.move_to(Seconds{200});
    const auto frame = replay.take_frame();
    EXPECT_TRUE(frame->jumped);
    ASSERT_THAT(frame->ticks, SizeIs(201 - 60));
    EXPECT_EQ(mib(*frame).front(), 60U);
    EXPECT_EQ(mib(*frame).back(), 200U);
    replay.move_to(Seconds{3});
    EXPECT_THAT(mib(*replay.take_frame()), ElementsAre(0, 1, 2, 3));
}

TEST_F(AReplay, StopsAtTheEndAndCanBeMovedBack) {
    Replay replay = opened(path);
    replay.set_speed(1000);
    replay.advance(Seconds{10});
    EXPECT_TRUE(replay.at_end());
    EXPECT_TRUE(replay.paused());
    EXPECT_FALSE(replay.until_next());
    replay.pause(false);
    EXPECT_TRUE(replay.paused());
    replay.move_by(-1);
    EXPECT_EQ(replay.position(), Seconds{298});
    replay.pause(false);
    EXPECT_FALSE(replay.paused());
}

TEST_F(AReplay, StandsStillWhilePaused) {
    Replay replay = opened(path);
    (void)replay.take_frame();
    replay.pause(true);
    replay.advance(Seconds{100});
    EXPECT_THAT(replay.take_frame()->ticks, IsEmpty());
    replay.move_by(1);
    EXPECT_THAT(mib(*replay.take_frame()), ElementsAre(1));
}

TEST_F(AReplay, StaysInsideTheRecording) {
    Replay replay = opened(path);
    replay.move_to(Seconds{-1e9});
    EXPECT_EQ(replay.position(), Seconds{0});
    replay.move_to(Seconds{1e300});
    EXPECT_EQ(replay.position(), replay.length());
    replay.set_speed(1e9);
    EXPECT_EQ(replay.speed(), Replay::kFastest);
    replay.set_speed(0);
    EXPECT_EQ(replay.speed(), Replay::kSlowest);
}

TEST_F(AReplay, JumpsToEventsAndShowsTheNoticesOfThatTime) {
    Replay replay = opened(with_events());
    (void)replay.take_frame();
    replay.to_next_event();
    EXPECT_EQ(replay.position(), Seconds{20});
    EXPECT_THAT(replay.take_frame()->notes, ElementsAre("train: is stable"));
    replay.to_next_event();
    EXPECT_EQ(replay.position(), Seconds{61}) << "the first tick after the event";
    replay.to_next_event();
    EXPECT_EQ(replay.position(), Seconds{61}) << "there is no other";
    replay.to_previous_event();
    EXPECT_EQ(replay.position(), Seconds{20});
    replay.to_previous_event();
    EXPECT_EQ(replay.position(), Seconds{20});
}

}  // namespace replay_test
}  // namespace memscope
