#include "recording/recorder.h"

#include <atomic>
#include <fmt/format.h>
#include <future>
#include <gmock/gmock.h>

#include "record/record.h"
#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace recorder_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;

struct ARecorder : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state");

    static SnapshotPtr tick(double i, std::uint64_t mib = 1, const std::string& target = "train") {
        return std::make_shared<const Snapshot>(tick_of(target, 1'000'000 + i, {mib * kMiB}));
    }
    std::vector<fs::path> files() const { return *find_recordings(directory); }
};

std::vector<std::string> kinds(Recording& recording) {
    std::vector<std::string> found;
    const auto events = recording.events(*recording.target({}));
    for (const RecordedEvent& event : *events) found.push_back(event.kind);
    return found;
}

TEST_F(ARecorder, WritesTicksNotesAndChangesOfTheVerdict) {
    {
        Recorder recorder(store_in(directory), {});
        for (int i = 0; i < 10; ++i) {
            Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB});
            if (i >= 5) snapshot.targets.front().verdicts.front().judgement.verdict = Verdict::leaking;
            if (i == 7) snapshot.targets.front().precursors.push_back({.kind = PrecursorKind::eta, .reason = "soon"});
            if (i == 3) recorder.note("action", "ran a command");
            recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds(100.0 + i));
        }
        recorder.finish(Seconds{60});
        EXPECT_EQ(recorder.dropped(), 0U);
        EXPECT_TRUE(recorder.up());
    }
    ASSERT_THAT(files(), SizeIs(1));
    Recording recording = reopened(files().front());
    int ticks = 0;
    ASSERT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample&) { return ++ticks > 0; }));
    EXPECT_EQ(ticks, 10);
    const auto found = kinds(recording);
    EXPECT_EQ(std::ranges::count(found, "verdict"), 2);
    EXPECT_EQ(std::ranges::count(found, "action"), 1);
    EXPECT_EQ(std::ranges::count(found, "precursor"), 1);
    EXPECT_EQ(std::ranges::count(found, "precursor_over"), 1);
    EXPECT_THAT(found, Contains("notice"));
}

TEST_F(ARecorder, ContinuesAfterATickAtWhichTheTargetCouldNotBeRead) {
    {
        Recorder recorder(store_in(directory), {});
        Snapshot without = tick_of("train", 1'000'001.0, {kMiB});
        without.unread = {without.targets.front().info.name};
        without.targets.clear();
        recorder.take(tick(0), Seconds{100});
        recorder.take(std::make_shared<const Snapshot>(without), Seconds{101});
        recorder.take(tick(2), Seconds{102});
        recorder.finish(Seconds{60});
    }
    ASSERT_THAT(files(), SizeIs(1));
    Recording recording = reopened(files().front());
    EXPECT_THAT(kinds(recording), Not(Contains("end")));
}

TEST_F(ARecorder, DropsWholeTicksIfItsQueueIsFull) {
    std::promise<void> reached, go_on;
    std::shared_future<void> may_go_on(go_on.get_future());
    std::once_flag once;
    Recorder recorder(store_in(directory), {.growth = [&](const TargetSnapshot&) -> std::optional<Growth> {
                          std::call_once(once, [&] { reached.set_value(); });
                          may_go_on.wait();
                          return std::nullopt;
                      }});
    recorder.take(tick(0), Seconds{100});
    recorder.take(tick(61), Seconds{161});  // growth is due: the thread waits in its callback
    reached.get_future().wait();
    for (std::size_t i = 0; i < Recorder::kMostQueued + 5; ++i)
        recorder.take(tick(62.0 + static_cast<double>(i)), Seconds(162.0 + static_cast<double>(i)));
    EXPECT_EQ(recorder.dropped(), 5U);
    go_on.set_value();
    recorder.finish(Seconds{60});
    Recording recording = reopened(files().front());
    std::size_t ticks = 0;
    ASSERT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample&) { return ++ticks > 0; }));
    EXPECT_EQ(ticks, Recorder::kMostQueued + 2);
}

// Growth waits for symbols that are never loaded, until the recorder stops the wait.
struct ARecorderWithoutSymbols : ARecorder {
    std::atomic<int> asked = 0;
    std::promise<void> stop;
    std::shared_future<void> stopped{stop.get_future()};
    bool returned_early = true;
    Recorder recorder{store_in(directory),
                      {.growth =
                           [this](const TargetSnapshot&) {
                               ++asked;
                               if (stopped.wait_for(Seconds{5}) != std::future_status::ready) returned_early = false;
                               return std::optional(Growth{});
                           },
                       .stop_growth = [this] { stop.set_value(); }}};

    void end() {
        recorder.finish(Seconds{0.05});
        EXPECT_GT(asked, 0);
        EXPECT_TRUE(returned_early);
        EXPECT_EQ(recorder.dropped(), 0U) << "the ticks are written";
        Recording recording = reopened(files().front());
        const auto growth = recording.last_growth(*recording.target({}));
        ASSERT_TRUE(growth);
        EXPECT_TRUE(*growth);
    }
};

TEST_F(ARecorderWithoutSymbols, EndsWhileTheGrowthOfTheLastTickWaits) {
    recorder.take(tick(0), Seconds{100});
    recorder.take(tick(61), Seconds{161});  // growth is due
    while (asked == 0) std::this_thread::yield();
    end();
}

TEST_F(ARecorderWithoutSymbols, EndsWhileTheGrowthAtTheEndWaits) {
    recorder.take(tick(0), Seconds{100});
    while (recorder.file_of("train").empty()) std::this_thread::yield();  // finish() drops ticks that are not written
    end();
}

TEST_F(ARecorder, KeepsTheGrowthOfThePeakAtTheEnd) {
    const auto source = [](std::int64_t bytes, std::optional<double> peak) {
        return [=](const TargetSnapshot&) {
            Growth growth{.span = {.peak = peak}};
            growth.mapped.sites.push_back({.bytes = bytes});
            return std::optional(growth);
        };
    };
    {
        Recorder recorder(store_in(directory), {.growth = source(1, {}), .peak_growth = source(2, 1'000'000.0)});
        recorder.take(tick(0), Seconds{100});
        recorder.finish(Seconds{60});
    }
    Recording recording = reopened(files().front());
    const auto target = recording.target({});
    EXPECT_EQ((*recording.last_growth(*target))->mapped.sites.front().bytes, 1) << "the peak is not the end";
    EXPECT_EQ((*recording.peak_growth(*target))->mapped.sites.front().bytes, 2);
}

TEST_F(ARecorder, KeepsTheGrowthUntilADeathWithTheTimeOfTheDeath) {
    const auto growth = [](const TargetSnapshot& target) {
        Growth grown;
        grown.mapped.sites.push_back({.bytes = static_cast<std::int64_t>(target.processes.size())});
        return std::optional(grown);
    };
    {
        Recorder recorder(store_in(directory), {.growth = growth});
        Snapshot before = tick_of("train", 1'000'000, {kMiB});
        Snapshot after = tick_of("train", 1'000'002, {kMiB});
        before.targets.front().processes.resize(2);
        after.targets.front().processes.resize(1);
        after.targets.front().deaths.resize(1);
        after.targets.front().deaths.front().time = 1'000'001.5;
        recorder.take(std::make_shared<const Snapshot>(before), Seconds{100});
        recorder.take(std::make_shared<const Snapshot>(after), Seconds{102});
        recorder.finish(Seconds{60});
    }
    Recording recording = reopened(files().front());
    const auto target = recording.target({});
    const auto until_death = recording.growth_before(*target, 1'000'001.5);
    ASSERT_TRUE(until_death && *until_death);
    EXPECT_EQ((*until_death)->mapped.sites.front().bytes, 2) << "of the processes before the death";
}

TEST_F(ARecorder, ReturnsTheFileOfATarget) {
    Recorder recorder(store_in(directory), {});
    EXPECT_EQ(recorder.file_of("train"), "");
    recorder.take(tick(0), Seconds{100});
    recorder.finish(Seconds{60});
    EXPECT_EQ(recorder.file_of("train"), files().front());
    EXPECT_EQ(recorder.file_of("other"), "");
}

TEST_F(ARecorder, SharesAFileBetweenManySmallTargets) {
    {
        Recorder recorder(store_in(directory), {});
        Snapshot snapshot{.time = 1'000'000};
        for (int i = 0; i < 200; ++i)
            snapshot.targets.push_back(
                tick_of("target" + std::to_string(1000 + i), 0, {i == 150 ? 100 * kMiB : kMiB}).targets.front());
        for (int i = 0; i < 3; ++i) {
            snapshot.time += 1;
            recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds(100.0 + i));
        }
        recorder.finish(Seconds{60});
    }
    std::size_t shared = 0;
    bool large_has_its_own = false;
    for (const fs::path& path : files()) {
        const Recording recording = reopened(path);
        if (recording.targets().size() > 1) shared = recording.targets().size();
        if (recording.targets().size() == 1 && recording.targets().front().info.name == "target1150")
            large_has_its_own = true;
    }
    EXPECT_EQ(shared, 200 - Recorder::kSeparateTargets);
    EXPECT_TRUE(large_has_its_own);
    EXPECT_EQ(files().size(), Recorder::kSeparateTargets + 2);
}

TEST_F(ARecorder, GivesEachRunOfATargetAFileAndClosesIt) {
    Recorder recorder(store_in(directory), {});
    recorder.take(tick(0), Seconds{100});
    recorder.take(std::make_shared<const Snapshot>(Snapshot{.time = 1'000'001}), Seconds{101});
    recorder.take(tick(2), Seconds{102});
    recorder.finish(Seconds{60});
    ASSERT_THAT(files(), SizeIs(2));
    const auto both = files();
    Recording first = reopened(*std::ranges::min_element(both));
    EXPECT_THAT(kinds(first), Contains("end"));
}

TEST_F(ARecorder, RecordsOneTargetInAFileThatTheUserNames) {
    Recorder recorder(store_in(directory / "run.memscope"), {});
    Snapshot snapshot = tick_of("a", 1'000'000, {kMiB});
    snapshot.targets.push_back(tick_of("b", 0, {kMiB}).targets.front());
    recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds{100});
    recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds{101});
    recorder.finish(Seconds{60});
    const Recording recording = reopened(directory / "run.memscope");
    ASSERT_THAT(recording.targets(), SizeIs(1));
    EXPECT_EQ(recording.targets().front().info.name, "a");
    const auto troubles = recorder.take_troubles();
    ASSERT_THAT(troubles, SizeIs(1));
    EXPECT_THAT(troubles.front().message(), HasSubstr("b is not recorded: one file can hold only one target"));
}

TEST_F(ARecorder, ReportsAWriteErrorOnceAndRetries) {
    Recorder recorder(store_in(directory / "run.memscope"), {});
    fs::create_directory(directory / "run.memscope");  // no file can have this name now
    recorder.take(tick(0), Seconds{100});
    recorder.take(tick(1), Seconds{101});
    recorder.take(tick(20), Seconds{120});
    while (recorder.dropped() < 3) std::this_thread::yield();
    EXPECT_THAT(recorder.take_troubles(), SizeIs(1));
    EXPECT_FALSE(recorder.up());
    fs::remove(directory / "run.memscope");
    recorder.take(tick(40), Seconds{140});
    recorder.finish(Seconds{60});
    EXPECT_TRUE(recorder.up());
    Recording recording = reopened(directory / "run.memscope");
    int ticks = 0;
    ASSERT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample&) { return ++ticks > 0; }));
    EXPECT_EQ(ticks, 1);
}

TEST_F(ARecorder, WritesEachCensusOnceWithItsObjects) {
    {
        Recorder recorder(store_in(directory), {});
        for (int i = 0; i < 6; ++i) {
            Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB});
            ProcessHeap heap{.role = {Role::trainer, 0}};
            heap.census.process = {100, 1};
            heap.census.time = i < 3 ? 1'000'000 : 1'000'003;
            heap.census.anon = {kMiB};
            ObjectCensus objects{.objects = 7};
            objects.holders.push_back({.path = "__main__.history", .retained = {kMiB}});
            if (i >= 3) heap.census.objects = std::make_shared<const ObjectCensus>(objects);
            snapshot.targets.front().heap.push_back(heap);
            recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds(100.0 + i));
        }
        recorder.finish(Seconds{60});
    }
    Recording recording = reopened(files().front());
    std::vector<std::pair<double, WholeCensus>> found;
    ASSERT_TRUE(recording.each_census(*recording.target({}), {}, [&](Seconds at, WholeCensus census) {
        found.emplace_back(at.count(), std::move(census));
        return true;
    }));
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].first, 0);
    EXPECT_FALSE(found[0].second.objects);
    EXPECT_EQ(found[0].second.census.anon.n, kMiB);
    EXPECT_EQ(found[1].first, 3);
    EXPECT_EQ(found[1].second.role, (RoleKey{Role::trainer, 0}));
    ASSERT_TRUE(found[1].second.objects);
    EXPECT_EQ(found[1].second.objects->objects, 7U);
    EXPECT_EQ(found[1].second.objects->holders.at(0).path, "__main__.history");
}

TEST_F(ARecorder, WritesTheLatestVersionOfAReportToTheRecordingOfItsTarget) {
    DeathReport report;
    report.then.targets.push_back(test::nearly_full());
    report.deaths = {test::oom_kill_of_trainer()};
    report.advice = {"raise the limit"};
    {
        Recorder recorder(store_in(directory), {});
        Snapshot snapshot = tick_of("train", 1'000'000, {kMiB});
        snapshot.targets.insert(snapshot.targets.begin(), tick_of("other", 0, {kMiB}).targets.front());
        recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds{100});
        recorder.report(std::make_shared<const DeathReport>(report));
        recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds{101});
        report.deaths.push_back(test::oom_kill_of_trainer());
        recorder.report(std::make_shared<const DeathReport>(report));
        // The target has ended, and its report comes with the tick that lacks it.
        recorder.take(std::make_shared<const Snapshot>(Snapshot{.time = 1'000'002}), Seconds{102});
        recorder.finish(Seconds{60});
    }
    ASSERT_THAT(files(), SizeIs(2));
    for (const fs::path& path : files()) {
        Recording recording = reopened(path);
        std::vector<DeathReport> found;
        ASSERT_TRUE(recording.each_report(*recording.target({}), [&](Seconds at, DeathReport each) {
            EXPECT_EQ(at, Seconds{2});
            found.push_back(std::move(each));
            return true;
        }));
        if (recording.targets().front().info.name == "other") {
            EXPECT_THAT(found, SizeIs(0));
            continue;
        }
        ASSERT_THAT(found, SizeIs(1));
        EXPECT_EQ(encode_record(found[0]), encode_record(report));
    }
}

DeathReport report_of(double death) {
    DeathReport report;
    report.then = tick_of("train", death - 1, {kMiB});
    report.deaths = {test::oom_kill_of_trainer()};
    report.deaths.front().time = death;
    return report;
}

TEST_F(ARecorder, WritesReportsAndNotesThatComeAfterTheLastTick) {
    {
        Recorder recorder(store_in(directory), {});
        recorder.take(tick(0), Seconds{100});
        recorder.take(tick(1), Seconds{101});
        recorder.report(std::make_shared<const DeathReport>(report_of(1'000'000.5)));
        recorder.note("action", "ran a command");
        recorder.finish(Seconds{60});
        EXPECT_EQ(recorder.dropped(), 0U);
    }
    Recording recording = reopened(files().front());
    std::vector<double> found;
    ASSERT_TRUE(recording.each_report(*recording.target({}), [&](Seconds at, const DeathReport& each) {
        EXPECT_EQ(at, Seconds{1}) << "the time of the last tick";
        found.push_back(each.decisive().time);
        return true;
    }));
    EXPECT_THAT(found, testing::ElementsAre(1'000'000.5));
    EXPECT_THAT(kinds(recording), Contains("action"));
}

TEST_F(ARecorder, CountsReportsAndNotesThatNoRecordingCanHold) {
    Recorder recorder(store_in(directory), {});
    recorder.report(std::make_shared<const DeathReport>(report_of(1'000'000)));
    recorder.note("action", "ran a command");
    recorder.finish(Seconds{60});
    EXPECT_EQ(recorder.dropped(), 2U) << "there was no tick";
}

TEST_F(ARecorder, CountsAReportThatComesAfterTheEndOfItsTarget) {
    Recorder recorder(store_in(directory), {});
    recorder.take(tick(0), Seconds{100});
    recorder.take(std::make_shared<const Snapshot>(Snapshot{.time = 1'000'001}), Seconds{101});
    recorder.report(std::make_shared<const DeathReport>(report_of(1'000'000.5)));
    recorder.take(std::make_shared<const Snapshot>(Snapshot{.time = 1'000'002}), Seconds{102});
    recorder.finish(Seconds{60});
    EXPECT_EQ(recorder.dropped(), 1U);
}

struct ARecorderThatFails : ARecorder {
    fs::path path = directory / "run.memscope";
    Recorder recorder{store_in(path), {}};

    void fail() { fs::create_directory(path); }  // no file can have this name now
    void succeed() { fs::remove(path); }
    void report(double death) { recorder.report(std::make_shared<const DeathReport>(report_of(death))); }
    void take(SnapshotPtr snapshot, double now) {
        const std::uint64_t before = recorder.dropped();
        recorder.take(std::move(snapshot), Seconds(now));
        while (fs::is_directory(path) && recorder.dropped() == before) std::this_thread::yield();
    }
    std::vector<double> recorded_deaths() {
        recorder.finish(Seconds{60});
        Recording recording = reopened(path);
        std::vector<double> found;
        EXPECT_TRUE(recording.each_report(*recording.target({}), [&](Seconds, const DeathReport& each) {
            found.push_back(each.decisive().time);
            return true;
        }));
        return found;
    }
};

TEST_F(ARecorderThatFails, KeepsReportsUntilTheyAreWritten) {
    fail();
    report(1'000'000);
    take(tick(0), 100);
    report(1'000'001);
    take(tick(1), 101);  // not tried
    succeed();
    take(tick(20), 120);
    EXPECT_THAT(recorded_deaths(), testing::UnorderedElementsAre(1'000'000, 1'000'001));
    EXPECT_EQ(recorder.dropped(), 2U) << "ticks";
}

TEST_F(ARecorderThatFails, RecordsTheReportOfATargetThatHasEndedSince) {
    fail();
    take(tick(0), 100);
    report(1'000'001);
    take(tick(1), 101);
    succeed();
    take(std::make_shared<const Snapshot>(Snapshot{.time = 1'000'020}), 120);
    EXPECT_THAT(recorded_deaths(), testing::ElementsAre(1'000'001));
    Recording recording = reopened(path);
    std::vector<double> times;
    ASSERT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample& sample) {
        times.push_back(sample.time);
        return true;
    }));
    EXPECT_THAT(times, testing::ElementsAre(1'000'000)) << "the tick before the death";
}

TEST_F(ARecorderThatFails, KeepsTheLatestReportsOnly) {
    fail();
    for (int batch = 0; batch < 2; ++batch) {
        for (int i = 0; i < 15; ++i) report(1'000'000 + 15 * batch + i);
        take(tick(batch), 100 + batch);
    }
    succeed();
    take(tick(20), 120);
    const auto found = recorded_deaths();
    EXPECT_THAT(found, SizeIs(Recorder::kMostReports));
    EXPECT_EQ(std::ranges::min(found), 1'000'010);
    EXPECT_EQ(recorder.dropped(), 2U + 10U) << "ticks and reports";
}

// Of 40 targets, 31 have a file of their own.
TEST_F(ARecorder, WritesGrowthAndCensusesOfLargeTargetsToTheSharedFile) {
    constexpr int kTargets = 40;
    const std::string small = "target39";
    {
        const auto growth = [](const TargetSnapshot&) { return std::optional(Growth{}); };
        Recorder recorder(store_in(directory), {.growth = growth});
        for (int minute = 0; minute <= 11; ++minute) {
            Snapshot snapshot{.time = 1'000'000.0 + 60 * minute};
            for (int i = 0; i < kTargets; ++i) {
                const std::string name = fmt::format("target{:02}", i);
                snapshot.targets.push_back(tick_of(name, 0, {(name == small ? 1 : 100) * kMiB}).targets.front());
                snapshot.targets.back().heap.push_back({.role = {Role::trainer, 0}});
            }
            recorder.take(std::make_shared<const Snapshot>(snapshot), Seconds(100.0 + 60 * minute));
        }
        recorder.finish(Seconds{60});
        EXPECT_EQ(recorder.dropped(), 0U);
    }
    std::size_t checked = 0;
    for (const fs::path& path : files()) {
        Recording recording = reopened(path);
        for (const RecordedTarget& target : recording.targets()) {
            if (recording.targets().size() == 1 || target.info.name < "target31") continue;
            ++checked;
            int censuses = 0;
            ASSERT_TRUE(recording.each_census(target, {}, [&](Seconds, const WholeCensus&) { return ++censuses > 0; }));
            EXPECT_EQ(censuses, 1) << target.info.name;
            EXPECT_EQ((*recording.growth_at(target, Seconds{610})).has_value(), target.info.name != small);
            EXPECT_FALSE((*recording.growth_at(target, Seconds{590})).has_value()) << "less often than once a minute";
        }
    }
    EXPECT_EQ(checked, kTargets - (Recorder::kMostFiles - 1));
}

}  // namespace recorder_test
}  // namespace memscope
