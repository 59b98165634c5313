// Decodes traces with the field numbers of Perfetto's .proto files, written here once more: those of the writer are not
// used, because then a wrong number would be wrong on both sides and no test would fail.
#include <gmock/gmock.h>
#include <map>
#include <protozero/pbf_reader.hpp>

#include "review/export.h"
#include "support/fake_tree.h"
#include "support/recorded_job.h"

namespace memscope {
namespace export_perfetto_test {

using protozero::pbf_reader;
using recording::RecordingFile;
using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kBegin = 1'000'000;  // seconds since 1970
constexpr std::uint64_t kSecond = 1'000'000'000;

struct TrackRead {
    std::string name{};
    std::uint64_t parent = 0;
    int unit = 0;  // not 0: a counter
    std::int32_t pid = 0;
    std::string process_name{};
};
struct EventRead {
    std::uint64_t at = 0;  // nanoseconds since the recording began
    int type = 0;
    std::string name{};
    std::int64_t value = 0;
    std::string details{};
    auto operator<=>(const EventRead&) const = default;
};

struct TraceRead {
    std::map<std::uint64_t, TrackRead> tracks{};
    std::map<std::uint64_t, std::vector<EventRead>> events{};  // by track
    std::map<std::uint32_t, std::uint64_t> clocks{};
    bool begun = false;  // the first packet of the sequence was there

    explicit TraceRead(const std::string& bytes) {
        for (pbf_reader trace(bytes); trace.next();) {
            EXPECT_EQ(trace.tag(), 1U);
            read_packet(trace.get_message());
        }
    }
    const std::vector<EventRead>& of(const std::string& name) const {
        static const std::vector<EventRead> kNone;
        for (const auto& [id, track] : tracks)
            if (track.name == name || track.process_name == name) return events.contains(id) ? events.at(id) : kNone;
        ADD_FAILURE() << "there is no track " << name;
        return kNone;
    }
    // Seconds since the begin, and the value.
    std::vector<std::pair<double, std::int64_t>> values(const std::string& name) const {
        std::vector<std::pair<double, std::int64_t>> found;
        for (const EventRead& event : of(name)) found.emplace_back(static_cast<double>(event.at) * 1e-9, event.value);
        return found;
    }

  private:
    void read_packet(pbf_reader packet) {
        std::uint64_t at = 0;
        bool sequence = false, stamped = false, event = false;
        while (packet.next()) {
            switch (packet.tag()) {
                case 8:
                    at = packet.get_uint64();
                    stamped = true;
                    break;
                case 10:
                    sequence = packet.get_uint32() != 0;
                    break;
                case 13:
                    begun = packet.get_uint32() == 1;
                    break;
                case 11:
                    EXPECT_TRUE(stamped);
                    event = true;
                    read_event(packet.get_message(), at);
                    break;
                case 60:
                    read_track(packet.get_message());
                    break;
                case 6:
                    read_clocks(packet.get_message());
                    break;
                default:
                    ADD_FAILURE() << "unknown field " << packet.tag();
                    packet.skip();
            }
        }
        EXPECT_TRUE(sequence && begun) << "Perfetto drops events without a sequence or before its begin";
        EXPECT_TRUE(!event || at >= kBegin * kSecond);
    }
    void read_clocks(pbf_reader snapshot) {
        while (snapshot.next(1)) {
            pbf_reader clock = snapshot.get_message();
            std::uint32_t id = 0;
            while (clock.next()) {
                if (clock.tag() == 1)
                    id = clock.get_uint32();
                else
                    clocks[id] = clock.get_uint64();
            }
        }
    }
    void read_track(pbf_reader descriptor) {
        std::uint64_t id = 0;
        TrackRead track;
        while (descriptor.next()) {
            switch (descriptor.tag()) {
                case 1:
                    id = descriptor.get_uint64();
                    break;
                case 2:
                    track.name = descriptor.get_string();
                    break;
                case 3:
                    for (pbf_reader process = descriptor.get_message(); process.next();) {
                        if (process.tag() == 1)
                            track.pid = process.get_int32();
                        else if (process.tag() == 6)
                            track.process_name = process.get_string();
                        else
                            process.skip();
                    }
                    break;
                case 5:
                    track.parent = descriptor.get_uint64();
                    EXPECT_TRUE(tracks.contains(track.parent));
                    break;
                case 8:
                    for (pbf_reader counter = descriptor.get_message(); counter.next(3);)
                        track.unit = counter.get_enum();
                    break;
                default:
                    ADD_FAILURE() << "unknown field " << descriptor.tag();
                    descriptor.skip();
            }
        }
        EXPECT_NE(id, 0U);
        EXPECT_TRUE(tracks.emplace(id, track).second) << "a track is described twice";
    }
    void read_event(pbf_reader reader, std::uint64_t at) {
        EventRead event{.at = at - kBegin * kSecond};
        std::uint64_t track = 0;
        while (reader.next()) {
            switch (reader.tag()) {
                case 9:
                    event.type = reader.get_enum();
                    break;
                case 11:
                    track = reader.get_uint64();
                    break;
                case 23:
                    event.name = reader.get_string();
                    break;
                case 30:
                    event.value = reader.get_int64();
                    break;
                case 4:
                    for (pbf_reader note = reader.get_message(); note.next();) {
                        if (note.tag() == 6)
                            event.details = note.get_string();
                        else
                            note.skip();
                    }
                    break;
                default:
                    ADD_FAILURE() << "unknown field " << reader.tag();
                    reader.skip();
            }
        }
        EXPECT_TRUE(tracks.contains(track)) << "a track has to be described before its events";
        EXPECT_EQ(event.type == 4, tracks[track].unit != 0) << "counters have values, and nothing else has";
        events[track].push_back(event);
    }
};

// In the order of the file, which is that of time: each slice ends before the next one begins, and all of them end.
void expect_slices_in_order(const TraceRead& trace) {
    for (const auto& [id, events] : trace.events) {
        int open = 0;
        std::uint64_t last = 0;
        for (const EventRead& event : events) {
            if (event.type == 4) continue;
            EXPECT_GE(event.at, last) << trace.tracks.at(id).name;
            last = event.at;
            open += event.type == 1 ? 1 : event.type == 2 ? -1 : 0;
            EXPECT_TRUE(open == 0 || open == 1) << trace.tracks.at(id).name;
            EXPECT_EQ(event.name.empty(), event.type == 2);
        }
        EXPECT_EQ(open, 0) << trace.tracks.at(id).name;
    }
}

struct APerfettoTrace : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state");

    RecordingFile writer() {
        RecordingStore store = store_in(directory);
        auto made = RecordingFile::create(*store.create("train", kBegin), {{"begin", "1000000"}}, Seconds{50});
        EXPECT_TRUE(made);
        return *std::move(made);
    }
    static TraceRead trace_of(const fs::path& path, const RecordedSpan& span = {}) {
        Recording recording = reopened(path);
        std::string bytes;
        const auto done =
            export_perfetto(recording, *recording.target({}), span, [&](std::string_view piece) -> Status {
                bytes += piece;
                return Done{};
            });
        EXPECT_TRUE(done) << (done ? "" : done.error().message());
        TraceRead trace(bytes);
        expect_slices_in_order(trace);
        return trace;
    }
};

// 30 ticks: the target grows, a worker lives from 10 to 20, the verdict changes at 15, a precursor is active from 18 to
// 25, and at 25 there is a death.
fs::path job(RecordingFile& file) {
    const auto id = file.add_target({.name = "train"});
    EXPECT_TRUE(id);
    for (int i = 0; i < 30; ++i) {
        Snapshot snapshot = tick_of("train", 1'000'000.0 + i, {static_cast<std::uint64_t>(i / 2) * kMiB});
        TargetSnapshot& target = snapshot.targets.front();
        target.memory.effective = EffectiveLimit{"own", {512 * kMiB}, {}};
        target.gpu.emplace().roles[{{Role::trainer, 0}, "GPU-1"}].used = Bytes{kMiB};
        if (i >= 10 && i < 20) {
            Process worker = target.processes.front();
            worker.task.id = {200, 7};
            worker.task.comm = "worker\xff";
            worker.role = i < 12 ? Role::other : Role::dataloader_worker;  // recognized later
            target.processes.push_back(worker);
            target.roles[{worker.role, {}}].anon = {3 * kMiB};
        }
        const Seconds now(50.0 + i);
        EXPECT_TRUE(file.add_tick(*id, now, snapshot, target));
        const auto note = [&](std::string_view kind, std::string_view text) {
            EXPECT_TRUE(file.add_event(*id, now, snapshot.time, kind, text));
        };
        if (i == 0) note("verdict", "warming_up: it has just begun");
        if (i == 15) note("verdict", "leaking: it grows");
        if (i == 18) note("precursor", "near_limit: 97 %");
        if (i == 25) note("precursor_over", "near_limit");
        if (i == 25) note("death", "oom_kill: 100 python3: it was killed");
        if (i == 26) note("action", "ran a command");
        if (i == 26) note("notice", "a plain line");
    }
    EXPECT_TRUE(file.close());
    return file.path();
}

TEST_F(APerfettoTrace, HasCountersOfTheTargetItsRolesAndItsGpus) {
    RecordingFile file = writer();
    const TraceRead trace = trace_of(job(file));
    EXPECT_EQ(trace.clocks, (std::map<std::uint32_t, std::uint64_t>{{6, kBegin * kSecond}, {1, kBegin * kSecond}}));
    const auto judged = trace.values("judged memory");
    ASSERT_EQ(judged.size(), 15U);  // a value is written when it changes
    EXPECT_EQ(judged[0], std::pair(0.0, std::int64_t{0}));
    EXPECT_EQ(judged[14], std::pair(28.0, static_cast<std::int64_t>(14 * kMiB)));
    EXPECT_THAT(trace.values("limit"), ElementsAre(Pair(0, 512 * kMiB)));
    EXPECT_THAT(trace.values("gpu GPU-1"), ElementsAre(Pair(0, kMiB)));
    EXPECT_THAT(trace.values("processes"), ElementsAre(Pair(0, 1), Pair(10, 2), Pair(20, 1)));
    EXPECT_THAT(trace.values("role dataloader_worker"), ElementsAre(Pair(12, 3 * kMiB), Pair(20, 0)));
    for (const auto& [id, track] : trace.tracks) {
        if (track.unit == 0) continue;
        EXPECT_EQ(track.unit, track.name == "processes" ? 2 : 3) << track.name;
        EXPECT_EQ(trace.tracks.at(track.parent).name, "memscope train");
    }
}

TEST_F(APerfettoTrace, HasSlicesOfVerdictsPrecursorsAndProcesses) {
    RecordingFile file = writer();
    const TraceRead trace = trace_of(job(file));
    const auto slice = [](double at, const char* name, const char* details) {
        return EventRead{.at = static_cast<std::uint64_t>(at) * kSecond, .type = 1, .name = name, .details = details};
    };
    const auto end = [](double at) { return EventRead{.at = static_cast<std::uint64_t>(at) * kSecond, .type = 2}; };
    EXPECT_THAT(trace.of("verdict"), ElementsAre(slice(0, "warming_up", "it has just begun"), end(15),
                                                 slice(15, "leaking", "it grows"), end(29)));
    EXPECT_THAT(trace.of("precursor near_limit"), ElementsAre(slice(18, "near_limit", "97 %"), end(25)));
    const char* command = "python3 train.py --rank 0";
    EXPECT_THAT(trace.of("python3"), ElementsAre(slice(0, "trainer", command), end(29)));
    // Names are made valid UTF-8.
    EXPECT_THAT(trace.of("worker\uFFFD"),
                ElementsAre(slice(10, "other", command), end(12), slice(12, "dataloader_worker", command), end(20)));
    std::vector<std::int32_t> pids;
    for (const auto& [id, track] : trace.tracks)
        if (track.pid != 0) pids.push_back(track.pid);
    EXPECT_THAT(pids, ElementsAre(100, 200));
}

TEST_F(APerfettoTrace, HasInstantsOfDeathsAndActions) {
    RecordingFile file = writer();
    const TraceRead trace = trace_of(job(file));
    EXPECT_THAT(trace.of("deaths"),
                ElementsAre(EventRead{
                    .at = 25 * kSecond, .type = 3, .name = "oom_kill", .details = "100 python3: it was killed"}));
    EXPECT_THAT(trace.of("events"),
                ElementsAre(EventRead{.at = 26 * kSecond, .type = 3, .name = "action", .details = "ran a command"}));
}

TEST_F(APerfettoTrace, IsCutToASpan) {
    RecordingFile file = writer();
    const TraceRead trace = trace_of(job(file), {Seconds{16}, Seconds{20}});
    const auto times = [&](const std::string& name) {
        std::vector<std::uint64_t> found;
        for (const EventRead& event : trace.of(name)) found.push_back(event.at / kSecond);
        return found;
    };
    EXPECT_THAT(times("verdict"), ElementsAre(16, 20));
    EXPECT_THAT(times("precursor near_limit"), ElementsAre(18, 20));
    EXPECT_THAT(times("python3"), ElementsAre(16, 20));
    for (const auto& [id, track] : trace.tracks) EXPECT_NE(track.name, "deaths");
}

// Ticks between keyframes are removed after some hours, so the bins have the peaks.
TEST_F(APerfettoTrace, HasThePeaksOfTicksThatWereRemoved) {
    RecordingFile file = writer();
    const auto id = file.add_target({.name = "train"});
    for (int i = 0; i < 7 * 360; ++i) {  // seven hours, one tick in ten seconds
        // Little changes, so that the tick with the peak is no keyframe.
        Snapshot snapshot = tick_of("train", 1'000'000.0 + 10 * i, {2 * kMiB}, 20);
        if (i == 33) snapshot.targets.front().memory.unreclaimable = {900 * kMiB};
        ASSERT_TRUE(file.add_tick(*id, Seconds(50.0 + 10 * i), snapshot, snapshot.targets.front()));
    }
    ASSERT_TRUE(file.close());
    {
        Recording recording = reopened(file.path());
        bool there = false;
        ASSERT_TRUE(recording.each_sample(*recording.target({}), {}, [&](const RecordedSample& sample) {
            there = there || sample.bytes.n == 900 * kMiB;
            return true;
        }));
        ASSERT_FALSE(there) << "the test needs a tick that is removed";
    }
    const TraceRead trace = trace_of(file.path());
    EXPECT_THAT(trace.values("judged memory"), Contains(Pair(testing::AllOf(testing::Ge(330), testing::Lt(340)),
                                                             static_cast<std::int64_t>(900 * kMiB))));
}

}  // namespace export_perfetto_test
}  // namespace memscope
