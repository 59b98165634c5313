#include "review/run_summary.h"

#include <gmock/gmock.h>

#include "record/record.h"
#include "review/run_text.h"
#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/json.h"
#include "support/recorded_job.h"

namespace memscope {
namespace run_summary_test {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr double kBegan = 1'000'000;  // seconds since 1970

// A recording that a test writes tick by tick.
struct ARun : testing::Test {
    FakeTree tree{{"state/", ""}};
    RecordingStore store = store_in(tree.at("state"));
    fs::path path{};
    std::optional<recording::RecordingFile> writer{};
    std::int64_t id = 0;
    std::uint64_t length = 0;

    void SetUp() override {
        auto file = store.create("train", kBegan);
        ASSERT_TRUE(file);
        path = file->path;
        auto made = recording::RecordingFile::create(*std::move(file), {{"begin", "1000000"}}, Seconds{});
        ASSERT_TRUE(made) << made.error().message();
        writer.emplace(*std::move(made));
        id = *writer->add_target({.name = "train"});
    }
    void tick(double at, const Snapshot& snapshot) {
        ASSERT_TRUE(writer->add_tick(id, Seconds(at), snapshot, snapshot.targets.front()));
    }
    void tick(double at, std::uint64_t mib) { tick(at, tick_of("train", kBegan + at, {mib * kMiB})); }
    void event(double at, const char* kind, const std::string& text) {
        ASSERT_TRUE(writer->add_event(id, Seconds(at), kBegan + at, kind, text));
    }
    void growth(double at, const char* reason, const Growth& grown) {
        ASSERT_TRUE(writer->add_growth(id, Seconds(at), kBegan + at, reason, true, encode_record(grown)));
    }
    RunSummary summary() {
        EXPECT_TRUE(writer->close());
        Recording recording = reopened(path);
        auto run = summarize(recording, *recording.target({}));
        EXPECT_TRUE(run) << (run ? "" : run.error().message());
        return *std::move(run);
    }
};

Growth grown_at(const std::string& file, int line, std::int64_t mib) {
    Growth growth;
    const GrowthSite site{.bytes = mib * static_cast<std::int64_t>(kMiB),
                          .python = {{"validate", file, line}},
                          .native = {{"mmap", "/lib/libc.so.6", 1}}};
    growth.mapped.sites.push_back(site);
    growth.owner = GrowthOwner{.place = "validate (" + file + ")", .bytes = site.bytes, .share = 0.9};
    growth.sentence = "validate (" + file + ") keeps more.";
    return growth;
}

TEST_F(ARun, HasADeathWhoseTickCouldNotBeRecorded) {
    tick(0, 100);
    tick(60, 100);
    DeathReport report;
    report.then.targets.push_back(test::nearly_full());
    report.deaths = {test::oom_kill_of_trainer()};
    ASSERT_TRUE(writer->add_report(id, Seconds{30}, report));
    const RunSummary run = summary();
    ASSERT_THAT(run.deaths, SizeIs(1));
    EXPECT_EQ(run.deaths.front().id, report.decisive().id);
    ASSERT_TRUE(run.last_death);
    Recording recording = reopened(path);
    const auto part = summarize(recording, *recording.target({}), {.from = Seconds{40}});
    ASSERT_TRUE(part);
    EXPECT_THAT(part->deaths, IsEmpty()) << "it is not of that time";
}

TEST_F(ARun, HasThePeaksOfItsPhases) {
    for (int i = 0; i <= 30; ++i) {
        Snapshot snapshot = tick_of("train", kBegan + i,
                                    {static_cast<std::uint64_t>(i == 5    ? 200
                                                                : i == 20 ? 150
                                                                          : 100) *
                                     kMiB});
        snapshot.targets[0].verdicts[0].judgement.warmup_ended = Seconds(kBegan + 10);
        tick(i, snapshot);
    }
    const RunSummary run = summary();
    EXPECT_EQ(run.peak.bytes.n, 200 * kMiB);
    EXPECT_EQ(run.warmup_peak->bytes.n, 200 * kMiB);
    EXPECT_EQ(run.warmup_peak->time, kBegan + 5);
    EXPECT_EQ(run.plateau_peak->bytes.n, 150 * kMiB);
    EXPECT_EQ(run.plateau_peak->time, kBegan + 20);
    EXPECT_THAT(run_text(run, false), HasSubstr("the job held at most 150 MiB"));
    EXPECT_EQ(nlohmann::json::parse(run_json(run))["plateau_peak_bytes"], 150 * kMiB);
}

TEST_F(ARun, HasNoPhasesIfNoWarmUpHasEnded) {
    tick(0, 100);
    const RunSummary run = summary();
    EXPECT_FALSE(run.warmup_peak);
    EXPECT_FALSE(run.plateau_peak);
}

TEST_F(ARun, ShowsWhenTheKernelsMarkWasReached) {
    for (int i = 0; i < 5; ++i) {
        Snapshot snapshot = tick_of("train", kBegan + i, {100 * kMiB});
        snapshot.targets[0].memory.peak = Bytes{(i < 3 ? 100 : 180) * kMiB};
        tick(i, snapshot);
    }
    const RunSummary run = summary();
    EXPECT_EQ(run.kernel_peak->n, 180 * kMiB);
    EXPECT_EQ(run.kernel_peak_time, kBegan + 3);
}

TEST_F(ARun, ShowsThatTheKernelsMarkIsOlderThanTheRecording) {
    Snapshot snapshot = tick_of("train", kBegan, {100 * kMiB});
    snapshot.targets[0].memory.peak = Bytes{900 * kMiB};
    tick(0, snapshot);
    const RunSummary run = summary();
    EXPECT_EQ(run.kernel_peak->n, 900 * kMiB);
    EXPECT_FALSE(run.kernel_peak_time);
    EXPECT_THAT(run_text(run, false), HasSubstr("from before the"));
}

TEST_F(ARun, ShowsTheCommandsThatRanAtPrecursors) {
    tick(0, 100);
    event(1, "precursor", "eta: memory runs out in 12 s");
    event(2, "action", "train: --on-precursor was run: eta, python3 (pid 7)");
    event(2, "action", "other: --on-precursor was run: eta, python3 (pid 8)");
    event(61, "precursor_over", "eta");
    event(70, "precursor", "near_limit: 97 % of its own limit");
    tick(80, 100);
    const RunSummary run = summary();
    ASSERT_THAT(run.precursors, SizeIs(2));
    EXPECT_EQ(run.precursors[0].kind, "eta");
    EXPECT_EQ(run.precursors[0].reason, "memory runs out in 12 s");
    EXPECT_EQ(run.precursors[0].until, kBegan + 61);
    EXPECT_FALSE(run.precursors[1].until);
    EXPECT_THAT(run.actions, ElementsAre("--on-precursor was run: eta, python3 (pid 7)"))
        << "not those of another target";
    std::string text = run_text(run, false);
    std::ranges::replace(text, '\n', ' ');
    EXPECT_THAT(text, HasSubstr("2 precursors announced an OOM kill: eta"));
    EXPECT_THAT(text, HasSubstr("memscope ran a command once; the last one: --on-precursor was run: eta"));
    EXPECT_THAT(run.advice, Contains(HasSubstr("raise the limit"))) << "it came close to its limit";
}

TEST_F(ARun, HasTheAdviceOfItsLastDeath) {
    Snapshot before = test::dead_job().then;
    before.targets[0].info.name = "train";
    before.time = kBegan;
    tick(0, before);
    Snapshot after = tick_of("train", kBegan + 1, {kMiB});
    after.targets[0].deaths = {test::oom_kill_of_trainer()};
    tick(1, after);
    growth(1, "end", grown_at("train.py", 60, 48));
    const RunSummary run = summary();
    ASSERT_THAT(run.deaths, SizeIs(1));
    ASSERT_TRUE(run.last_death);
    EXPECT_EQ(run.last_death->then.time, kBegan) << "the last tick at which it was alive";
    EXPECT_THAT(run.advice, Contains(AllOf(HasSubstr("leaking"), HasSubstr("validate (train.py)"))));
    EXPECT_THAT(run_text(run, false), AllOf(HasSubstr("WHAT TO DO"), HasSubstr("There was 1 death.")));
    EXPECT_EQ(nlohmann::json::parse(run_json(run))["deaths"][0]["cause"], "oom_kill");
}

TEST_F(ARun, IsJudgedByTheVerdictBeforeItsDeathIfTheRestIsTooEarly) {
    Snapshot before = test::dead_job().then;
    before.targets[0].info.name = "train";
    before.time = kBegan;
    tick(0, before);
    Snapshot after = before;  // the launcher is left over
    after.time = kBegan + 1;
    after.targets[0].deaths = {test::oom_kill_of_trainer()};
    for (ScopeVerdict& verdict : after.targets[0].verdicts)
        verdict = {.role = verdict.role, .judgement = {.verdict = Verdict::insufficient}};
    tick(1, after);
    const RunSummary run = summary();
    ASSERT_TRUE(run.judgement);
    EXPECT_EQ(run.judgement->verdict, before.targets[0].verdict()->judgement.verdict);
    EXPECT_TRUE(run.judged_before_death);
    EXPECT_THAT(run_text(run, false), HasSubstr("last death was leaking."));
}

TEST_F(ARun, HasNoAdviceIfNothingIsWrong) {
    tick(0, 100);
    const RunSummary run = summary();
    EXPECT_THAT(run.advice, IsEmpty());
    EXPECT_THAT(run_text(run, false), AllOf(Not(HasSubstr("WHAT TO DO")), HasSubstr("No process died")));
}

TEST_F(ARun, HasGrowthByLineAndHostTensors) {
    tick(0, 100);
    Growth grown = grown_at("/job/train.py", 60, 48);
    grown.tensors_host.sites.push_back({.bytes = 32 * kMiB, .python = {{"collect", "/job/data.py", 7}}});
    growth(0, "minute", grown);
    growth(1, "end", grown_at("/job/exit.py", 1, 2));  // what a process that exits by itself still holds
    const RunSummary run = summary();
    const std::string text = run_text(run, false);
    EXPECT_THAT(text, AllOf(HasSubstr("keeps more."), HasSubstr("/job/train.py:60 validate"), HasSubstr("Host tensors"),
                            HasSubstr("/job/data.py:7 collect"), Not(HasSubstr("exit.py"))));
    EXPECT_EQ(nlohmann::json::parse(run_json(run))["growth"]["tensors_host"][0]["bytes"], 32 * kMiB);
}

TEST_F(ARun, UsesGrowthAtThePeakOnlyIfItWasTakenAtThePeak) {
    tick(0, 100);
    tick(1, 50);
    Growth at_peak = grown_at("train.py", 60, 48);
    at_peak.span.peak = kBegan;
    growth(1, "peak", at_peak);
    const RunSummary run = summary();
    EXPECT_TRUE(run.peak_growth);
    EXPECT_THAT(run_text(run, false), AllOf(HasSubstr("HELD AT THE PEAK"), HasSubstr("train.py:60 validate")));
}

TEST_F(ARun, LeavesOutGrowthOfALowerMaximum) {
    tick(0, 100);
    tick(1, 50);
    Growth lower = grown_at("train.py", 60, 48);
    lower.span.peak = kBegan + 1;
    growth(1, "peak", lower);
    EXPECT_FALSE(summary().peak_growth);
}

TEST_F(ARun, KeepsTheHoldersOfAProcessThatExitedBeforeTheOthers) {
    Snapshot with_census = tick_of("train", kBegan, {100 * kMiB});
    ProcessHeap heap{.role = {Role::trainer, std::nullopt}};
    heap.census.anon = {100 * kMiB};
    heap.held = HeldObjects{.time = kBegan, .bytes = {90 * kMiB}};
    heap.held->holders.push_back(
        {.holder = {.path = "Trainer.outputs", .type = "list", .length = 3, .retained = {80 * kMiB}}});
    heap.held->most = heap.held->holders.front().holder;
    with_census.targets[0].heap = {heap};
    tick(0, with_census);
    tick(1, 10);
    const RunSummary run = summary();
    ASSERT_TRUE(run.holders());
    EXPECT_THAT(run_text(run, false), AllOf(HasSubstr("WHAT HELD THE MEMORY"), HasSubstr("Trainer.outputs")));
    EXPECT_EQ(nlohmann::json::parse(run_json(run))["holders"]["holders"][0]["path"], "Trainer.outputs");
}

TEST_F(ARun, HasTheLastWholeCensusOfEachProcess) {
    tick(0, 100);
    for (const int pid : {7, 8, 7}) {
        WholeCensus census{.role = {Role::trainer, std::nullopt}};
        census.census.process = {pid, 1};
        census.census.time = kBegan + ++length;
        census.objects.emplace().holders.push_back({.path = "Trainer.outputs", .length = length});
        ASSERT_TRUE(writer->add_heap(id, Seconds(0), census));
    }
    const RunSummary run = summary();
    ASSERT_THAT(run.censuses, SizeIs(2));
    EXPECT_EQ(run.censuses[0].objects->holders[0].length, 3U) << "of pid 7, the later one";
}

TEST_F(ARun, PrefersTheReportOfADeathThatTheWatcherWrote) {
    tick(0, 100);
    Snapshot after = tick_of("train", kBegan + 1, {kMiB});
    after.targets[0].deaths = {test::oom_kill_of_trainer()};
    tick(1, after);
    DeathReport report = test::dead_job();
    report.advice = {"Do this."};
    ASSERT_TRUE(writer->add_report(id, Seconds(2), report));
    EXPECT_THAT(summary().advice, ElementsAre("Do this."));
}

TEST_F(ARun, CountsMemoryByGpuAndRole) {
    Snapshot snapshot = tick_of("train", kBegan, {kMiB});
    snapshot.gpus = {{.id = "GPU-b", .index = 1}};
    TargetGpu gpu;
    gpu.roles[{{Role::trainer, 0}, "GPU-b"}].used = Bytes{30 * kMiB};
    gpu.roles[{{Role::trainer, 1}, "GPU-b"}].used = Bytes{10 * kMiB};
    snapshot.targets[0].gpu = gpu;
    tick(0, snapshot);
    const RunSummary run = summary();
    EXPECT_EQ(run.gpus.at("GPU-b").peak.n, 40 * kMiB);
    EXPECT_EQ(run.gpus.at("GPU-b").index, 1U);
    EXPECT_EQ(run.gpus.at("GPU-b").roles.at("trainer 0").n, 30 * kMiB);
    EXPECT_THAT(run_text(run, false), AllOf(HasSubstr("GPU 1 (GPU-b)"), HasSubstr("40 MiB")));
}

TEST_F(ARun, HasItsCurveInABoundedNumberOfPoints) {
    for (int i = 0; i < 1000; ++i) tick(i, i == 700 ? 500 : 100);
    const RunSummary run = summary();
    EXPECT_LE(run.series.size(), 240U);
    EXPECT_GE(run.series.size(), 200U);
    EXPECT_EQ(std::ranges::max_element(run.series, {}, &HeldPoint::held)->time, kBegan + 700);
}

TEST_F(ARun, ShowsNamesOfAnyBytesSafely) {
    tick(0, 100);
    event(1, "death", "signal: 7 \x1b[2J\xff: x");
    event(1, "precursor", "\x1b[31mred");
    EXPECT_THAT(run_text(summary(), false), Not(HasSubstr("\x1b")));
}

}  // namespace run_summary_test
}  // namespace memscope
