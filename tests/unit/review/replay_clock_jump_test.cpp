// The wall clock is set back and forward by hours while a recording is written. Everything that reads it goes on by the
// boot clock.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"
#include "recording/recorder.h"
#include "review/export.h"
#include "review/replay.h"
#include "review/run_summary.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace replay_clock_jump_test {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr double kBegan = 1'000'000;  // seconds since 1970
constexpr double kHour = 3600;
constexpr int kTicks = 15;  // one a minute

struct AClockThatIsSet : testing::Test {
    FakeTree tree{{"state/", ""}};

    // Three hours back at tick 5, five hours forward at tick 10.
    static double offset(int tick) { return tick < 5 ? 0 : (tick < 10 ? -3 * kHour : 2 * kHour); }
    static double time_of(int tick, bool set) { return kBegan + 60 * tick + (set ? offset(tick) : 0); }

    fs::path recorded(const std::string& name, bool set) {
        const fs::path path = tree.at("state") / (name + ".memscope");
        const auto growth = [](const TargetSnapshot&) { return std::optional(Growth{}); };
        Recorder recorder(store_in(path), {.growth = growth});
        for (int i = 0; i < kTicks; ++i) {
            Snapshot snapshot =
                tick_of("train", time_of(i, set), {static_cast<std::uint64_t>(i == 3 ? 200 : 100 + i) * kMiB});
            ScopeVerdict& verdict = snapshot.targets.front().verdicts.front();
            // The end of the warm-up, by the wall clock of the tick: at 4.5 minutes.
            verdict.judgement.warmup_ended = Seconds(snapshot.time + 60 * (4.5 - i));
            if (i == 12) verdict.judgement.verdict = Verdict::leaking;
            recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds(50 + 60 * i));
        }
        recorder.finish(Seconds{60});
        EXPECT_EQ(recorder.dropped(), 0U);
        return path;
    }

    template <class Export>
    static std::string exported(const fs::path& path, Export format) {
        Recording recording = reopened(path);
        std::string text;
        EXPECT_TRUE(format(recording, *recording.target({}), {}, [&](std::string_view piece) -> Status {
            text += piece;
            return Done{};
        }));
        return text;
    }
};

TEST_F(AClockThatIsSet, DoesNotChangeTheTimesSinceTheBegin) {
    Recording recording = reopened(recorded("set", true));
    const RecordedTarget target = *recording.target({});
    int i = 0;
    ASSERT_TRUE(recording.each_sample(target, {}, [&](const RecordedSample& sample) {
        EXPECT_EQ(sample.at, Seconds(60.0 * i));
        EXPECT_EQ(sample.time, time_of(i, true));
        return ++i > 0;
    }));
    EXPECT_EQ(i, kTicks);
    std::vector<double> verdicts;
    const auto events = recording.events(target);
    for (const RecordedEvent& event : *events)
        if (event.kind == "verdict") verdicts.push_back(event.at.count());
    EXPECT_THAT(verdicts, ElementsAre(0, 720, 780));
    EXPECT_EQ(recording.bins(target)->at("target").size(), static_cast<std::size_t>(kTicks));
    EXPECT_TRUE((*recording.growth_at(target, Seconds{360})).has_value());
}

TEST_F(AClockThatIsSet, DoesNotChangeTheSeriesThatIsJudged) {
    const std::string series = exported(recorded("set", true), export_csv);
    EXPECT_EQ(series, exported(recorded("kept", false), export_csv));
    EXPECT_EQ(std::ranges::count(series, '\n'), kTicks + 1);
}

TEST_F(AClockThatIsSet, LosesNoTickOfMetrics) {
    const std::string text = exported(recorded("set", true), export_openmetrics);
    std::vector<double> times;
    for_each_line(text, [&](std::string_view line) {
        if (!line.starts_with("memscope_memory_usage_bytes{")) return;
        times.push_back(std::stod(std::string(line.substr(line.rfind(' ')))));
    });
    ASSERT_THAT(times, SizeIs(kTicks));
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(times[static_cast<std::size_t>(i)], kBegan + 60 * i) << "as if it was not set";
    for (int i = 10; i < kTicks; ++i) EXPECT_EQ(times[static_cast<std::size_t>(i)], time_of(i, true));
}

TEST_F(AClockThatIsSet, DoesNotStopAReplay) {
    Recording recording = reopened(recorded("set", true));
    auto target = recording.target({});
    auto replay = Replay::open(std::move(recording), *std::move(target));
    ASSERT_TRUE(replay);
    EXPECT_EQ(replay->length(), Seconds(60.0 * (kTicks - 1)));
    for (int i = 0; i < kTicks; ++i) {
        const auto frame = replay->take_frame();
        ASSERT_TRUE(frame);
        ASSERT_THAT(frame->ticks, SizeIs(1)) << i;
        EXPECT_EQ(frame->ticks.front()->time, time_of(i, true));
        EXPECT_EQ(replay->time(), time_of(i, true));
        if (i + 1 < kTicks) {
            EXPECT_EQ(replay->until_next(), Seconds{60}) << i;
        }
        replay->advance(Seconds{60});
    }
    EXPECT_TRUE(replay->at_end());
}

TEST_F(AClockThatIsSet, FindsThePlaceOfATimeOfDay) {
    Recording recording = reopened(recorded("set", true));
    const RecordedTarget target = *recording.target({});
    const auto place = [&](double moment) { return recording.place_of(target, moment)->count(); };
    EXPECT_EQ(place(kBegan + 30), 30);
    EXPECT_EQ(place(time_of(5, true) - 90), -3 * kHour + 300 - 90) << "before the begin";
    EXPECT_EQ(place(time_of(7, true) + 15), 435);
    EXPECT_EQ(place(time_of(9, true) + kHour), 600) << "skipped: the next tick";
    EXPECT_EQ(place(time_of(12, true)), 720);
    EXPECT_EQ(place(time_of(kTicks - 1, true) + 30), 60 * (kTicks - 1) + 30) << "after the end";
}

TEST_F(AClockThatIsSet, DoesNotChangeThePhases) {
    for (const bool set : {false, true}) {
        Recording recording = reopened(recorded(set ? "set" : "kept", set));
        const auto run = summarize(recording, *recording.target({}));
        ASSERT_TRUE(run);
        EXPECT_EQ(run->length, Seconds(60.0 * (kTicks - 1)));
        ASSERT_TRUE(run->warmup_peak && run->plateau_peak) << set;
        EXPECT_EQ(run->warmup_peak->bytes.n, 200 * kMiB) << set;
        EXPECT_EQ(run->plateau_peak->bytes.n, (100 + kTicks - 1) * kMiB) << set;
    }
}

}  // namespace replay_clock_jump_test
}  // namespace memscope
