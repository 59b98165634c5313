#include "review/export.h"

#include <fstream>
#include <gmock/gmock.h>

#include "base/text.h"
#include "review/find_recording.h"
#include "review/run_summary.h"
#include "review/run_text.h"
#include "support/fake_tree.h"
#include "support/json.h"
#include "support/recorded_job.h"

namespace memscope {
namespace export_test {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kMiB = 1U << 20U;

struct AnExport : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state");
    fs::path path = recorded_run(directory, "train", 20,
                                 [](int i) { return Bytes{static_cast<std::uint64_t>(i == 12 ? 50 : i) * kMiB}; });
    Recording recording = reopened(path);
    RecordedTarget target = *recording.target({});

    template <class Export>
    std::string text_of(Export exported, const RecordedSpan& span = {}) {
        std::string text;
        const auto done = exported(recording, target, span, [&](std::string_view piece) -> Status {
            text += piece;
            return Done{};
        });
        EXPECT_TRUE(done) << (done ? "" : done.error().message());
        return text;
    }
};

TEST_F(AnExport, HasTheJudgedSeriesAsCsv) {
    EXPECT_THAT(text_of(export_csv), StartsWith("t_seconds,bytes\n0.000,0\n1.000,1048576\n"));
    EXPECT_EQ(text_of(export_csv, {Seconds{12}, Seconds{12}}), "t_seconds,bytes\n12.000,52428800\n");
}

TEST_F(AnExport, LeavesOutTicksWithoutAProcess) {
    const auto made = recorded_run(directory, "other", 1, [](int) { return Bytes{kMiB}; });
    {
        RecordingStore store = store_in(directory);
        auto file = store.create("empty", 0);
        path = file->path;
        auto writer = recording::RecordingFile::create(*std::move(file), {}, Seconds{});
        const auto id = writer->add_target({.name = "empty"});
        for (const int processes : {0, 1, 0}) {
            const Snapshot snapshot = tick_of("empty", 0, {kMiB}, processes);
            ASSERT_TRUE(writer->add_tick(*id, Seconds(processes), snapshot, snapshot.targets.front()));
        }
        ASSERT_TRUE(writer->close());
    }
    recording = reopened(path);
    target = *recording.target({});
    EXPECT_EQ(text_of(export_csv), "t_seconds,bytes\n1.000,1048576\n");
}

TEST_F(AnExport, HasOneJsonObjectPerTick) {
    int lines = 0;
    for_each_line(text_of(export_json), [&](std::string_view line) {
        EXPECT_EQ(nlohmann::json::parse(std::string(line))["time"], 1'000'000.0 + lines);
        ++lines;
    });
    EXPECT_EQ(lines, 20);
}

TEST_F(AnExport, HasOpenMetricsWithTimeStamps) {
    const std::string text = text_of(export_openmetrics);
    EXPECT_THAT(text, HasSubstr("# TYPE memscope_memory_usage_bytes gauge\n"));
    EXPECT_THAT(text, HasSubstr("memscope_memory_usage_bytes{target=\"train\"} 1048576 1000001.000\n"
                                "memscope_memory_usage_bytes{target=\"train\"} 2097152 1000002.000\n"));
    EXPECT_THAT(text, HasSubstr("# TYPE memscope_self_cpu_seconds counter\n"));
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST_F(AnExport, CopiesARecordingThatIsBeingWritten) {
    RecordingStore store = store_in(directory);
    auto file = store.create("live", 1'000'000);
    const fs::path live = file->path;
    auto writer = recording::RecordingFile::create(*std::move(file), {{"begin", "1000000"}}, Seconds{50});
    const auto id = writer->add_target({.name = "live"});
    for (int i = 0; i < 5; ++i) {
        const Snapshot snapshot = tick_of("live", 1'000'000.0 + i, {kMiB});
        ASSERT_TRUE(writer->add_tick(*id, Seconds(50.0 + i), snapshot, snapshot.targets.front()));
    }
    ASSERT_TRUE(writer->commit());
    recording = reopened(live);
    std::string bytes;
    const auto done = export_recording_copy(recording, [&](std::string_view piece) -> Status {
        bytes += piece;
        return Done{};
    });
    ASSERT_TRUE(done) << done.error().message();
    const fs::path copy = directory / "copy.memscope";
    std::ofstream(copy, std::ios::binary) << bytes;
    const auto live_csv = text_of(export_csv);
    recording = reopened(copy);
    target = *recording.target({});
    EXPECT_EQ(target.info.name, "live");
    EXPECT_EQ(text_of(export_csv), live_csv);
    EXPECT_EQ(bytes[18], 1) << "in the header: 1 is a rollback journal, 2 a WAL";
}

TEST_F(AnExport, EndsWhenTheReaderIsGone) {
    const auto done =
        export_csv(recording, target, {}, [](std::string_view) -> Status { return system_error(EPIPE, "write"); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, std::errc::broken_pipe);
}

TEST_F(AnExport, SummarizesTheRun) {
    const auto run = summarize(recording, target);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->peak.bytes.n, 50 * kMiB);
    EXPECT_EQ(run->peak.time, 1'000'012);
    EXPECT_EQ(run->ticks, 20U);
    EXPECT_EQ(run->length, Seconds{19});
    EXPECT_EQ(run->roles.at("trainer").peak.n, 50 * kMiB);
    EXPECT_EQ(run->judgement->verdict, Verdict::stable);
    const std::string text = run_text(*run, false);
    EXPECT_THAT(text, HasSubstr("The verdict is stable."));
    EXPECT_THAT(text, HasSubstr("50 MiB"));
    EXPECT_EQ(nlohmann::json::parse(run_json(*run))["peak_bytes"], 50 * kMiB);
    EXPECT_FALSE(summarize(recording, target, {Seconds{100}, Seconds{200}}));
}

TEST_F(AnExport, FindsARecordingByTheNameOfItsTarget) {
    EXPECT_EQ(*find_recording("train", directory), path);
    EXPECT_EQ(*find_recording(path.filename().string(), directory), path);
    EXPECT_EQ(*find_recording(path.string(), "/nowhere"), path);
    EXPECT_THAT(find_recording("trian", directory).error().message(), HasSubstr("neither a file nor a target"));
    EXPECT_EQ(find_all_recordings(directory.string(), "/nowhere")->size(), 1U);
}

}  // namespace export_test
}  // namespace memscope
