#include "recording/recording.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "record/record.h"
#include "recording/schema.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace recording_test {

using recording::RecordingFile;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;

// Changes a recording as an attacker could who wants to harm its reader.
void run_sql(const fs::path& path, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(::sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(::sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    ::sqlite3_close(handle);
}

std::string message_of(const fs::path& path) {
    const auto opened = Recording::open(path);
    return opened ? "opened" : opened.error().message();
}

std::int64_t count(const fs::path& path, const std::string& where, const std::string& table = "ticks") {
    auto database = recording::Database::open(path, recording::Database::Mode::read);
    auto statement = database->prepare("SELECT count(*) FROM " + table + " WHERE " + where);
    EXPECT_TRUE(*statement->step());
    return statement->integer(0);
}

struct ARecording : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state");

    RecordingFile writer(const std::string& target = "train") {
        RecordingStore store = store_in(directory);
        auto file = store.create(target, 1'000'000);
        EXPECT_TRUE(file);
        auto made = RecordingFile::create(*std::move(file), {{"begin", "1000000"}}, Seconds{50});
        EXPECT_TRUE(made) << (made ? "" : made.error().message());
        return *std::move(made);
    }
};

TEST_F(ARecording, ReturnsEveryTickAsItWasRecorded) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train", .kind = "pid", .cgroup_version = 1});
    ASSERT_TRUE(id);
    std::vector<std::string> written, read;
    for (int i = 0; i < 150; ++i) {  // over two keyframes
        const Snapshot snapshot = tick_of("train", 1'000'000.5 + i, {static_cast<std::uint64_t>(i) * kMiB}, 20);
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
        written.push_back(encode_record(snapshot));
    }
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    const auto target = recording.target({});
    ASSERT_TRUE(target);
    EXPECT_EQ(target->info.kind, "pid");
    EXPECT_EQ(recording.began(), 1'000'000);
    Seconds at{-1};
    ASSERT_TRUE(recording.each_tick(*target, {}, [&](const RecordedSample& sample, const Snapshot& snapshot) {
        EXPECT_EQ(sample.at, at + Seconds{1});
        at = sample.at;
        EXPECT_EQ(sample.bytes, snapshot.targets.front().memory.held());
        read.push_back(encode_record(snapshot));
        return true;
    }));
    EXPECT_EQ(read, written);
    // One a minute, and one where a tick had little in common with the last one.
    EXPECT_GE(count(file.path(), "base IS NULL"), 3);
    EXPECT_LE(count(file.path(), "base IS NULL"), 15);
}

TEST_F(ARecording, HasTheTicksOfASpanOnly) {
    const fs::path path = recorded_run(directory, "train", 100, [](int) { return Bytes{kMiB}; });
    Recording recording = reopened(path);
    std::vector<double> at;
    ASSERT_TRUE(recording.each_tick(*recording.target({}), {Seconds{61}, Seconds{63}},
                                    [&](const RecordedSample& sample, const Snapshot&) {
                                        at.push_back(sample.at.count());
                                        return true;
                                    }));
    EXPECT_THAT(at, ElementsAre(61, 62, 63));
}

TEST_F(ARecording, HasEventsAndTheLastGrowth) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const auto other = file.add_target({.name = "other"});
    ASSERT_TRUE(file.add_event(*id, Seconds{52}, 1'000'002, "verdict", "leaking: it grows"));
    ASSERT_TRUE(file.add_event(*other, Seconds{53}, 1'000'003, "death", "not of this target"));
    Growth growth;
    growth.sentence = "first";
    ASSERT_TRUE(file.add_growth(*id, Seconds{52}, 1'000'002, "minute", false, encode_record(growth)));
    growth.sentence = "second";
    ASSERT_TRUE(file.add_growth(*id, Seconds{53}, 1'000'003, "end", true, encode_record(growth)));
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    const auto target = recording.target("train");
    ASSERT_TRUE(target);
    const auto events = recording.events(*target);
    ASSERT_TRUE(events);
    ASSERT_EQ(events->size(), 1U);
    EXPECT_EQ(events->front().text, "leaking: it grows");
    EXPECT_EQ(events->front().at, Seconds{2});
    const auto last = recording.last_growth(*target);
    ASSERT_TRUE(last && *last);
    EXPECT_EQ((*last)->sentence, "second");
    EXPECT_THAT(recording.target({}).error().message(), HasSubstr("choose one with --target: train, other"));
    EXPECT_THAT(recording.target("trian").error().message(), HasSubstr("it has train, other"));
}

TEST_F(ARecording, HasEachTickByItsId) {
    const fs::path path =
        recorded_run(directory, "train", 150, [](int i) { return Bytes{static_cast<std::uint64_t>(i) * kMiB}; });
    Recording recording = reopened(path);
    const RecordedTarget target = *recording.target({});
    const auto index = recording.tick_index(target);
    ASSERT_TRUE(index);
    ASSERT_EQ(index->size(), 150U);
    for (const std::size_t i : {149U, 0U, 70U, 69U, 140U, 3U}) {  // in no order, across keyframes
        const RecordedMoment& moment = index->at(i);
        EXPECT_EQ(moment.at, Seconds(static_cast<double>(i)));
        EXPECT_EQ(moment.time, 1'000'000.0 + static_cast<double>(i));
        const auto tick = recording.tick(target, moment.id);
        ASSERT_TRUE(tick) << i;
        EXPECT_EQ(tick->targets.front().memory.usage.n, i * kMiB);
    }
    EXPECT_THAT(recording.tick(target, 151).error().message(), HasSubstr("removed this tick"));
    EXPECT_THAT(recording.tick({.id = 7}, 1).error().message(), HasSubstr("removed this tick"));
}

TEST_F(ARecording, HasTheGrowthOfATime) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    for (const int minute : {1, 2, 3}) {
        Growth growth;
        growth.sentence = std::to_string(minute);
        ASSERT_TRUE(file.add_growth(*id, Seconds(50.0 + 60 * minute), 0, "minute", false, encode_record(growth)));
    }
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    const RecordedTarget target = *recording.target({});
    EXPECT_FALSE(*recording.growth_at(target, Seconds{59}));
    EXPECT_EQ((*recording.growth_at(target, Seconds{60}))->sentence, "1");
    EXPECT_EQ((*recording.growth_at(target, Seconds{179}))->sentence, "2");
    EXPECT_EQ((*recording.last_growth(target))->sentence, "3");
}

TEST_F(ARecording, IsReadByTheTimeOfDay) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const auto other = file.add_target({.name = "other"});
    for (int i = 0; i < 10; ++i)
        for (const auto& [name, target] : {std::pair("train", *id), std::pair("other", *other)}) {
            const Snapshot snapshot = tick_of(name, 1'000'000.0 + i, {static_cast<std::uint64_t>(i) * kMiB});
            ASSERT_TRUE(file.add_tick(target, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
        }
    Growth growth;
    growth.sentence = "early";
    ASSERT_TRUE(file.add_growth(*id, Seconds(53), 1'000'003, "minute", true, encode_record(growth)));
    growth.sentence = "at the peak";
    ASSERT_TRUE(file.add_growth(*id, Seconds(54), 1'000'004, "peak", true, encode_record(growth)));
    growth.sentence = "late";
    ASSERT_TRUE(file.add_growth(*id, Seconds(57), 1'000'007, "verdict", true, encode_record(growth)));
    for (const int second : {2, 6})
        ASSERT_TRUE(
            file.add_heap(*id, Seconds(50.0 + second), {.census = {.process = {7, 1}, .time = 1'000'000.0 + second}}));
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    const RecordedTarget target = *recording.target("train");
    const auto tick_at = [&](double time) {
        const auto moment = recording.tick_before(target, time);
        return *moment ? (**moment).time : -1;
    };
    EXPECT_EQ(tick_at(1'000'004.9), 1'000'004);
    EXPECT_EQ(tick_at(1'000'004), 1'000'004);
    EXPECT_EQ(tick_at(5e9), 1'000'009);
    EXPECT_EQ(tick_at(0), 1'000'000);  // the first one
    EXPECT_FALSE(*recording.tick_before({.id = 9}, 5e9));
    EXPECT_EQ(recording.tick(target, (**recording.tick_before(target, 1'000'004)).id)->targets.front().info.name,
              "train");
    EXPECT_THAT(*recording.growth_times(target), ElementsAre(1'000'003, 1'000'007));
    EXPECT_EQ((*recording.growth_before(target, 1'000'006))->sentence, "early");
    EXPECT_EQ((*recording.growth_before(target, 1'000'007))->sentence, "late");
    EXPECT_FALSE(*recording.growth_before(target, 1'000'002));
    const auto censuses = recording.census_index(target);
    ASSERT_EQ(censuses->size(), 2U);
    EXPECT_EQ(censuses->back().time, 1'000'006);
    EXPECT_EQ(censuses->back().pid, 7);
    EXPECT_EQ(recording.census(target, censuses->back().id)->census.time, 1'000'006);
    EXPECT_THAT(recording.census(target, 99).error().message(), HasSubstr("removed this heap census"));
}

TEST_F(ARecording, HasBinsOfEachGpu) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    for (int i = 0; i < 12; ++i) {
        Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB});
        TargetGpu& gpu = snapshot.targets.front().gpu.emplace();
        const auto bytes = Bytes{static_cast<std::uint64_t>(i) * kMiB};
        gpu.roles[{{Role::trainer, 0}, "GPU-1"}].used = bytes;
        gpu.roles[{{Role::trainer, 1}, "GPU-1"}].used = bytes;
        gpu.roles[{{Role::trainer, 1}, "GPU-2"}].reserved[0] = {kMiB};  // NVML does not report it
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
    }
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    const auto bins = recording.bins(*recording.target({}));
    ASSERT_TRUE(bins);
    ASSERT_EQ(bins->at("gpu GPU-1").size(), 2U);
    EXPECT_EQ(bins->at("gpu GPU-1")[0].low.n, 0U);
    EXPECT_EQ(bins->at("gpu GPU-1")[0].high.n, 18 * kMiB);
    EXPECT_EQ(bins->at("gpu GPU-1")[1].high.n, 22 * kMiB);
    EXPECT_EQ(bins->at("gpu GPU-2")[0].high.n, kMiB);
}

TEST_F(ARecording, CutsACensusThatIsTooLarge) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    WholeCensus census;
    ObjectCensus& objects = census.objects.emplace();
    objects.holders.resize(100'000);
    for (Holder& holder : objects.holders) holder = {.path = std::string(200, 'x'), .within = 99'999};
    ASSERT_TRUE(file.add_heap(*id, Seconds{51}, census));
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    std::size_t holders = 0;
    std::uint64_t within = 1;
    ASSERT_TRUE(recording.each_census(*recording.target({}), {}, [&](Seconds, const WholeCensus& read) {
        holders = read.objects->holders.size();
        within = read.objects->holders.front().within;
        EXPECT_LE(encode_record(read).size(), RecordingFile::kMostHeapBytes);
        return true;
    }));
    EXPECT_EQ(holders, 12'500U);
    EXPECT_EQ(within, 0U);
}

TEST_F(ARecording, KeepsTheLowestAndHighestValueOfEachBin) {
    const fs::path path = recorded_run(
        directory, "train", 25, [](int i) { return Bytes{static_cast<std::uint64_t>(i == 13 ? 90 : i) * kMiB}; });
    Recording recording = reopened(path);
    const auto bins = recording.bins(*recording.target({}));
    ASSERT_TRUE(bins);
    const auto& series = bins->at("target");
    ASSERT_EQ(series.size(), 3U);
    EXPECT_EQ(series[0].low.n, 0U);
    EXPECT_EQ(series[0].high.n, 9 * kMiB);
    EXPECT_EQ(series[1].at, Seconds{10});
    EXPECT_EQ(series[1].high.n, 90 * kMiB);
    EXPECT_EQ(series[2].low.n, 20 * kMiB);
    EXPECT_EQ(bins->count("role trainer"), 1U);
}

TEST_F(ARecording, KeepsOnlyKeyframesOfTheTimeBeforeTheLastHours) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const int hours = 8;
    for (int i = 0; i < hours * 360; ++i) {  // one tick in ten seconds
        const Snapshot snapshot = tick_of("train", 1'000'000.0 + 10 * i, {kMiB * static_cast<std::uint64_t>(i % 7)});
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + 10 * i), snapshot, snapshot.targets.front()));
    }
    ASSERT_TRUE(file.close());
    EXPECT_EQ(count(file.path(), "at < 3600 AND base IS NOT NULL"), 0);
    EXPECT_GE(count(file.path(), "at < 3600"), 60);
    EXPECT_LT(count(file.path(), "at < 3600"), 180);
    EXPECT_EQ(count(file.path(), "at >= 3600 * 7"), 360);
    Recording recording = reopened(file.path());
    int ticks = 0;
    ASSERT_TRUE(recording.each_tick(*recording.target({}), {}, [&](const RecordedSample&, const Snapshot&) {
        ++ticks;
        return true;
    }));
    EXPECT_EQ(ticks, count(file.path(), "1"));
    EXPECT_EQ(recording.bins(*recording.target({}))->at("target").size(), static_cast<std::size_t>(hours * 360));
}

TEST_F(ARecording, KeepsGrowthOfEachHourAndACensusOfEachSixHours) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const Snapshot snapshot = tick_of("train", 1'000'000, {kMiB});
    const std::string growth = encode_record(Growth{});
    WholeCensus census;
    census.census.process = {100, 1};
    const int hours = 24;
    for (int minute = 0; minute < hours * 60; ++minute) {
        const Seconds now(50.0 + 60 * minute);
        ASSERT_TRUE(file.add_tick(*id, now, snapshot, snapshot.targets.front()));
        ASSERT_TRUE(file.add_growth(*id, now, 0, minute == 90 ? "verdict" : "minute", minute == 90, growth));
        if (minute % 15 == 0) {
            ASSERT_TRUE(file.add_heap(*id, now, census));
        }
    }
    ASSERT_TRUE(file.close());
    // 18 hours are thinned. After the growth of minute 90, which is kept, the intervals of an hour begin anew.
    EXPECT_EQ(count(file.path(), "at < 3600 * 17", "growth"), 18);
    EXPECT_EQ(count(file.path(), "at < 3600 * 17 AND reason = 'verdict'", "growth"), 1);
    EXPECT_EQ(count(file.path(), "at >= 3600 * 19", "growth"), 300);
    EXPECT_EQ(count(file.path(), "at < 3600 * 17", "heap"), 3);
    EXPECT_EQ(count(file.path(), "at >= 3600 * 19", "heap"), 20);
}

TEST_F(ARecording, CanBeCopiedWhileItIsWritten) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const auto add = [&](int i) {
        const Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB});
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
    };
    for (int i = 0; i < 10; ++i) add(i);
    ASSERT_TRUE(file.commit());
    add(10);  // not committed: not in the copy
    const fs::path path = directory / "copy.memscope";
    std::ofstream(path).close();
    {
        Recording recording = reopened(file.path());
        const auto copied = recording.copy_to(path);
        ASSERT_TRUE(copied) << copied.error().message();
    }
    EXPECT_FALSE(fs::exists(path.native() + "-wal"));
    EXPECT_FALSE(fs::exists(path.native() + "-shm"));
    EXPECT_FALSE(fs::exists(path.native() + "-journal"));
    EXPECT_EQ(count(path, "1"), 10);
    auto database = recording::Database::open(path, recording::Database::Mode::read);
    auto mode = database->prepare("PRAGMA journal_mode");
    ASSERT_TRUE(*mode->step());
    EXPECT_EQ(mode->bytes(0), "delete");
    Recording copy = reopened(path);
    EXPECT_EQ(copy.target({})->info.name, "train");
    ASSERT_TRUE(file.commit());
    EXPECT_EQ(count(file.path(), "1"), 11);
}

TEST_F(ARecording, CanStillBeReadAfterItHadToShrink) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    for (int i = 0; i < 7200; ++i) {
        const Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {kMiB * static_cast<std::uint64_t>(i)});
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
    }
    ASSERT_TRUE(file.commit());
    std::uint64_t before = file.used()->n;
    for (int round = 0; round < 8; ++round) {
        ASSERT_TRUE(file.shrink());
        ASSERT_TRUE(file.commit());
        EXPECT_LE(file.used()->n, before);
        before = file.used()->n;
    }
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    int ticks = 0;
    const auto read = recording.each_tick(*recording.target({}), {}, [&](const RecordedSample&, const Snapshot&) {
        ++ticks;
        return true;
    });
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    EXPECT_GE(ticks, 500);  // the last ten minutes
    EXPECT_LT(ticks, 1000);
}

TEST_F(ARecording, IsWholeAfterABatchWasRolledBack) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const Snapshot snapshot = tick_of("train", 1'000'000, {kMiB});
    ASSERT_TRUE(file.commit());
    ASSERT_TRUE(file.add_tick(*id, Seconds{50}, snapshot, snapshot.targets.front()));  // the keyframe
    file.roll_back();
    ASSERT_TRUE(file.add_tick(*id, Seconds{51}, snapshot, snapshot.targets.front()));
    ASSERT_TRUE(file.close());
    Recording recording = reopened(file.path());
    int ticks = 0;
    EXPECT_TRUE(recording.each_tick(*recording.target({}), {}, [&](const RecordedSample& sample, const Snapshot&) {
        EXPECT_EQ(sample.at, Seconds{1});
        ++ticks;
        return true;
    }));
    EXPECT_EQ(ticks, 1);
}

TEST_F(ARecording, CanBeReadWhileItIsWritten) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const Snapshot snapshot = tick_of("train", 1'000'000, {kMiB});
    ASSERT_TRUE(file.add_tick(*id, Seconds{50}, snapshot, snapshot.targets.front()));
    ASSERT_TRUE(file.commit());
    ASSERT_TRUE(file.add_tick(*id, Seconds{51}, snapshot, snapshot.targets.front()));
    Recording recording = reopened(file.path());
    int ticks = 0;
    EXPECT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample&) { return ++ticks > 0; }));
    EXPECT_EQ(ticks, 1);
}

TEST_F(ARecording, CanEndWhileItIsRead) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    const Snapshot snapshot = tick_of("train", 1'000'000, {kMiB});
    ASSERT_TRUE(file.add_tick(*id, Seconds{50}, snapshot, snapshot.targets.front()));
    ASSERT_TRUE(file.commit());
    const Recording reader = reopened(file.path());
    const auto closed = file.close();
    EXPECT_TRUE(closed) << (closed ? "" : closed.error().message());
    EXPECT_EQ(count(file.path(), "1"), 1);
    EXPECT_EQ(reopened(file.path()).targets().size(), 1U);
}

TEST_F(ARecording, IsOneFileAtTheEnd) {
    const fs::path path = recorded_run(directory, "train", 3, [](int) { return Bytes{kMiB}; });
    EXPECT_FALSE(fs::exists(path.native() + "-wal"));
    EXPECT_FALSE(fs::exists(path.native() + "-shm"));
}

TEST_F(ARecording, RefusesFilesThatAreNoRecording) {
    const fs::path path = directory / "a.memscope";
    EXPECT_THAT(message_of(path), HasSubstr("No such file"));
    EXPECT_THAT(message_of(directory), HasSubstr("not a regular file"));
    std::ofstream(path) << "no database";
    EXPECT_THAT(message_of(path), HasSubstr("is not a recording of memscope"));
    std::ofstream(path) << std::string("SQLite format 3\0", 16) << std::string(5000, 'x');
    EXPECT_THAT(message_of(path), HasSubstr("is not a recording of memscope"));
    fs::remove(path);
    run_sql(path, "CREATE TABLE other(a)");
    EXPECT_THAT(message_of(path), HasSubstr("is not a recording of memscope"));
}

TEST_F(ARecording, IsRefusedIfALaterVersionMadeIt) {
    const fs::path path = recorded_run(directory, "train", 3, [](int) { return Bytes{kMiB}; });
    run_sql(path, "PRAGMA user_version = 2");
    EXPECT_THAT(message_of(path), HasSubstr("later version of memscope"));
}

TEST_F(ARecording, RefusesUnexpectedTables) {
    for (const char* sql : {"CREATE TRIGGER t AFTER INSERT ON ticks BEGIN SELECT 1; END", "CREATE VIEW v AS SELECT 1",
                            "DROP TABLE ticks; CREATE VIEW ticks AS SELECT 1 AS id",
                            "ALTER TABLE ticks ADD COLUMN more AS (zeroblob(1000000000))", "DROP TABLE events"}) {
        const fs::path path = recorded_run(directory, "train", 3, [](int) { return Bytes{kMiB}; });
        run_sql(path, sql);
        EXPECT_THAT(message_of(path), HasSubstr("it has other tables")) << sql;
        fs::remove(path);
    }
}

TEST_F(ARecording, IsRefusedIfATickIsForged) {
    const auto read = [](const fs::path& path) -> std::string {
        Recording recording = reopened(path);
        const auto done =
            recording.each_tick(*recording.target({}), {}, [](const RecordedSample&, const Snapshot&) { return true; });
        return done ? "read" : done.error().message();
    };
    for (const char* sql : {"UPDATE ticks SET record = randomblob(500) WHERE id = 2", "DELETE FROM ticks WHERE id = 1",
                            "UPDATE ticks SET base = 3 WHERE id = 2", "UPDATE ticks SET record = NULL WHERE id = 1",
                            "UPDATE ticks SET base = NULL WHERE id = 2"}) {
        const fs::path path = recorded_run(directory, "train", 3, [](int) { return Bytes{kMiB}; });
        EXPECT_EQ(read(path), "read");
        run_sql(path, sql);
        EXPECT_THAT(read(path), testing::AnyOf(HasSubstr("damaged"), HasSubstr("has a tick that"))) << sql;
        fs::remove(path);
    }
}

// SQLite, zstd or the checksum of a record detect most damage. Damage that they do not detect must be harmless.
TEST_F(ARecording, IsReadOrRefusedWhereverItIsDamaged) {
    const fs::path path =
        recorded_run(directory, "train", 5, [](int i) { return Bytes{static_cast<std::uint64_t>(i)}; });
    std::ifstream in(path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::uint32_t random = 1;
    const auto next = [&random] { return (random = random * 1664525 + 1013904223) >> 8U; };
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        std::string damaged = whole;
        for (std::uint32_t n = 1 + next() % 20; n > 0; --n)
            damaged[next() % damaged.size()] = static_cast<char>(next());
        if (round % 10 == 0) damaged.resize(next() % damaged.size());
        std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
        auto opened = Recording::open(path);
        bool good = static_cast<bool>(opened);
        if (opened)
            for (const RecordedTarget& target : opened->targets()) {
                const auto ignore = [](const RecordedSample&, const Snapshot&) { return true; };
                good = static_cast<bool>(opened->each_tick(target, {}, ignore)) && good;
                good = static_cast<bool>(opened->events(target)) && good;
                good = static_cast<bool>(opened->bins(target)) && good;
                good = static_cast<bool>(opened->last_growth(target)) && good;
                good = static_cast<bool>(opened->tick_index(target)) && good;
                const auto any_census = [](Seconds, const WholeCensus&) { return true; };
                good = static_cast<bool>(opened->each_census(target, {}, any_census)) && good;
                const auto any_report = [](Seconds, const DeathReport&) { return true; };
                good = static_cast<bool>(opened->each_report(target, any_report)) && good;
            }
        refused += good ? 0 : 1;
    }
    EXPECT_GT(refused, 50);
    EXPECT_LT(refused, 300);  // damage in unused space does no harm
}

}  // namespace recording_test
}  // namespace memscope
