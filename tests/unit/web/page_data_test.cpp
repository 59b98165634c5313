#include "web/page_data.h"

#include <gmock/gmock.h>

#include "recorded_page.h"

namespace memscope::web {
namespace page_data_test {

using nlohmann::json;
using test::kBegan;
using test::kMiB;
using test::series;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct APage : test::RecordedPage {};

TEST_F(APage, ShowsARecording) {
    begin();
    for (int i = 0; i < 100; ++i) tick(i, static_cast<std::uint64_t>(i == 50 ? 900 : 100 + i));
    event(30, "verdict", "stable: it is flat.");
    event(60, "report", "/var/lib/memscope/death.json");
    growth(60, {.sentence = "nothing"});
    close();
    const auto data = page();
    const json run = json::parse(data->run().json);
    EXPECT_EQ(run["mode"], "recording");
    EXPECT_EQ(run["target"], "train");
    EXPECT_EQ(run["version"], "7");
    EXPECT_EQ(run["recording"], path.filename().string());
    EXPECT_EQ(run["began"], kBegan);
    EXPECT_EQ(run["ended"], kBegan + 99);
    EXPECT_EQ(run["ticks"], 100);
    EXPECT_EQ(run["interval"], 1);
    EXPECT_EQ(run["summary"]["verdict"], "stable");
    EXPECT_EQ(run["summary"]["peak_bytes"], 900 * kMiB);
    EXPECT_EQ(run["summary"]["peak_time"], kBegan + 50);
    EXPECT_EQ(run["summary"]["limit_bytes"], nullptr);
    EXPECT_THAT(run["events"], SizeIs(1));  // the path of a report is not for the page
    EXPECT_EQ(run["growth_times"], json::array({kBegan + 60}));
    EXPECT_EQ(run["forecast"], nullptr);

    const json curves = json::parse(data->curves({}, {}, 16).json);
    EXPECT_EQ(curves["complete"], true);
    ASSERT_TRUE(series(curves, "held"));
    const json& held = *series(curves, "held");
    EXPECT_EQ(held["high"].size(), curves["time"].size());
    EXPECT_EQ(*std::max_element(held["high"].begin(), held["high"].end()), 900 * kMiB);
    EXPECT_EQ(held["low"][0], 100 * kMiB);
    for (const char* name : {"usage", "kind:anon", "role:trainer", "processes"})
        EXPECT_TRUE(series(curves, name)) << name;
    EXPECT_FALSE(series(curves, "limit"));
    const json zoomed = json::parse(data->curves(kBegan + 49.5, kBegan + 50.5, 16).json);
    EXPECT_THAT(zoomed["time"], SizeIs(1));
}

TEST_F(APage, ShowsTheTickAtOrBeforeATime) {
    begin();
    for (int i = 0; i < 100; ++i) tick(i, static_cast<std::uint64_t>(100 + i));
    close();
    const auto data = page();
    const auto usage_at = [&](std::optional<double> at) -> std::uint64_t {
        return json::parse(data->tick(at).json)["memory"]["usage_bytes"].get<std::uint64_t>() / kMiB;
    };
    EXPECT_EQ(usage_at(kBegan + 42), 142U);
    EXPECT_EQ(usage_at(kBegan + 42.9), 142U);
    EXPECT_EQ(usage_at({}), 199U);
    EXPECT_EQ(usage_at(kBegan + 1e6), 199U);
    EXPECT_EQ(usage_at(0), 100U);  // before the first one
}

TEST_F(APage, HasTheCurvesOfEachGpu) {
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    snapshot.gpus = {{.id = "GPU-1",
                      .index = 3,
                      .name = "H100",
                      .used = Bytes{30 * kMiB},
                      .total = Bytes{80 * kMiB},
                      .holders = {{100, Bytes{20 * kMiB}}, {7, Bytes{10 * kMiB}}},
                      .knows_holders = true}};
    GpuUse use{.used = Bytes{20 * kMiB}, .reserved = {Bytes{15 * kMiB}}, .tensors = Bytes{12 * kMiB}};
    TargetGpu gpu;
    gpu.processes[100].devices["GPU-1"] = use;
    gpu.roles[{{Role::trainer, std::nullopt}, "GPU-1"}] = use;
    snapshot.targets.front().gpu = gpu;
    for (int i = 0; i < 30; ++i) {
        snapshot.time = kBegan + i;
        tick(i, snapshot);
    }
    close();
    const auto data = page();
    const json curves = json::parse(data->curves({}, {}, 16).json);
    const std::map<std::string, std::uint64_t> wanted{{"used", 30},     {"total", 80},   {"target", 20},
                                                      {"reserved", 15}, {"tensors", 12}, {"others", 10}};
    for (const auto& [what, mib] : wanted) {
        const json* found = series(curves, "gpu:3:" + what);
        ASSERT_TRUE(found) << what;
        EXPECT_EQ((*found)["mean"][0], mib * kMiB) << what;
        EXPECT_EQ((*found)["high"][0], mib * kMiB) << what;
        EXPECT_EQ((*found)["label"], "GPU 3 (H100) " + what);
    }
}

TEST_F(APage, HasTheLastCensusOfEachProcess) {
    begin();
    for (int i = 0; i < 30; ++i) tick(i, 100);
    const auto census = [&](double at, ProcessId process, std::uint64_t anon) {
        WholeCensus whole{.census = {.process = process, .time = kBegan + at, .anon = {anon}}};
        whole.census.part(HeapPart::malloc_live) = {anon};
        ASSERT_TRUE(writer->add_heap(id, Seconds(at), whole));
    };
    census(5, {100, 1}, 1000);
    census(6, {200, 1}, 5000);
    census(10, {100, 1}, 1500);
    census(15, {200, 2}, 700);  // another process with the same pid
    close();
    const auto data = page();
    const auto heap_at = [&](std::optional<double> at) { return json::parse(data->heap(at, false).json)["processes"]; };
    EXPECT_THAT(heap_at(kBegan + 4), SizeIs(0));
    json heaps = heap_at(kBegan + 7);
    ASSERT_THAT(heaps, SizeIs(2));  // the largest first
    EXPECT_EQ(heaps[0]["pid"], 200);
    EXPECT_EQ(heaps[0]["parts"][0]["change_bytes"], nullptr);
    heaps = heap_at({});
    ASSERT_THAT(heaps, SizeIs(2));
    EXPECT_EQ(heaps[0]["pid"], 100);
    EXPECT_EQ(heaps[0]["parts"][0]["change_bytes"], 500);
    EXPECT_EQ(heaps[1]["anon_bytes"], 700);
    EXPECT_EQ(heaps[1]["parts"][0]["change_bytes"], nullptr);
    EXPECT_EQ(json::parse(data->run().json)["heap_times"],
              json::array({kBegan + 5, kBegan + 6, kBegan + 10, kBegan + 15}));
    EXPECT_THAT(data_in(report())["heap"], SizeIs(4));
}

TEST_F(APage, SaysWhichDataIsMissing) {
    begin();
    tick(0, 100);
    close();
    const auto data = page();
    EXPECT_EQ(data->growth({}, "start").status, 404);
    EXPECT_THAT(json::parse(data->growth({}, "start").json)["error"], "no growth was recorded before this time");
    EXPECT_EQ(data->heap({}, false).json, R"({"processes":[]})");
    EXPECT_EQ(data->heap({}, true).status, 400);
    const json live = json::parse(data->live(0).json);
    EXPECT_EQ(live["ended"], true);
    EXPECT_THAT(live["ticks"], SizeIs(0));
}

TEST_F(APage, HasTheLeaksOfARun) {
    RunState run{.began = 100, .last = 200};
    run.summary.judgement =
        Judgement{.verdict = Verdict::leaking, .warmup_ended = Seconds{120}, .leak_started = Seconds{150}};
    run.summary.series_began = 100;
    run.events = {
        {{}, 130, "verdict", "leaking: a"}, {{}, 140, "verdict", "stable: b"}, {{}, 170, "verdict", "leaking: c"}};
    const auto phases = phases_of(run);
    ASSERT_THAT(phases, SizeIs(3));
    EXPECT_EQ(phases[0].kind, "warmup");
    EXPECT_EQ(phases[0].to, 120);
    EXPECT_EQ(phases[1].from, 130);
    EXPECT_EQ(phases[1].to, 140);
    EXPECT_EQ(phases[2].from, 150);  // before its verdict
    EXPECT_EQ(phases[2].to, 200);
}

// A page of a fake watcher.
struct ALivePage : APage {
    Snapshot now = snapshot_of(1000, 500);
    int status = 200;
    std::vector<std::string> asked{};
    AskWatcher ask = [this](const std::string& path_and_query, Seconds) -> Result<HttpResponse> {
        asked.push_back(path_and_query);
        if (status == 0) return system_error(ECONNREFUSED, "connect");
        if (path_and_query.starts_with("/api/v1/record"))
            return HttpResponse{.status = status, .body = encode_target(now, now.targets.front())};
        return HttpResponse{.status = status, .body = "{}"};
    };
    std::unique_ptr<PageData> live(std::optional<RecordedRun> recorded = {}, std::string history = {}) {
        auto data = PageData::of_watcher(ask, target, std::move(recorded), std::move(history));
        EXPECT_TRUE(data) << (data ? "" : data.error().message());
        return *std::move(data);
    }
};

TEST_F(ALivePage, FollowsTheWatcher) {
    const auto data = live({}, "It begins now.");
    json run = json::parse(data->run().json);
    EXPECT_EQ(run["mode"], "live");
    EXPECT_EQ(run["history"], "It begins now.");
    EXPECT_EQ(run["ended"], nullptr);
    EXPECT_EQ(run["ticks"], 1);
    EXPECT_EQ(*data->poll(), false);  // the same tick
    now = snapshot_of(1002, 700);
    now.targets.front().verdicts.front().judgement.verdict = Verdict::leaking;
    now.targets.front().verdicts.front().explanation = "It grows.";
    EXPECT_EQ(*data->poll(), true);
    const json news = json::parse(data->live(kBegan + 1000).json);
    ASSERT_THAT(news["ticks"], SizeIs(1));
    EXPECT_EQ(news["ticks"][0]["time"], kBegan + 1002);
    EXPECT_EQ(news["ticks"][0]["held"], 700 * kMiB);
    EXPECT_EQ(news["ticks"][0]["kinds"]["anon"], 700 * kMiB);
    EXPECT_EQ(news["ticks"][0]["roles"]["trainer"], 700 * kMiB);
    EXPECT_EQ(news["ticks"][0]["limit"], nullptr);
    ASSERT_THAT(news["events"], SizeIs(1));
    EXPECT_EQ(news["events"][0]["text"], "leaking: It grows.");
    EXPECT_EQ(news["summary"]["verdict"], "leaking");
    EXPECT_EQ(news["ended"], false);
    run = json::parse(data->run().json);
    EXPECT_EQ(run["interval"], 2);
    EXPECT_EQ(run["summary"]["peak_bytes"], 700 * kMiB);
    EXPECT_EQ(json::parse(data->tick(kBegan + 1001).json)["memory"]["usage_bytes"], 500 * kMiB);
    EXPECT_EQ(data->tick(kBegan + 999).status, 404);  // nothing is known of that time
}

TEST_F(ALivePage, KeepsTheLastDataWhenTheTargetEnds) {
    const auto data = live();
    now = snapshot_of(1001, 500);
    now.targets.front().up = false;
    EXPECT_EQ(*data->poll(), true);
    const json news = json::parse(data->live(kBegan + 1000).json);
    EXPECT_EQ(news["ended"], true);
    EXPECT_EQ(news["events"][0]["kind"], "end");
    status = 0;
    EXPECT_FALSE(data->poll());
    EXPECT_EQ(json::parse(data->run().json)["ended"], kBegan + 1001);
    EXPECT_EQ(json::parse(data->tick({}).json)["time"], kBegan + 1001);
}

TEST_F(ALivePage, HasTheHistoryOfItsRecording) {
    begin();
    for (int i = 900; i <= 1005; ++i) tick(i, static_cast<std::uint64_t>(i == 910 ? 2000 : 300));
    event(950, "verdict", "stable: it is flat.");
    ASSERT_TRUE(writer->commit());
    const auto data = live(opened());
    data->start();
    json run = json::parse(data->run().json);
    while (!run["complete"]) run = json::parse(data->run().json);
    EXPECT_EQ(run["history"], nullptr);
    EXPECT_EQ(run["ticks"], 101);  // 900 to 999, and the tick of the watcher
    EXPECT_EQ(run["summary"]["peak_bytes"], 2000 * kMiB);
    EXPECT_THAT(run["events"], SizeIs(1));
    const json curves = json::parse(data->curves(kBegan + 900, kBegan + 1000, 101).json);
    EXPECT_THAT(curves["time"], SizeIs(101));
    EXPECT_EQ(json::parse(data->tick(kBegan + 910).json)["memory"]["usage_bytes"], 2000 * kMiB);
    EXPECT_EQ(json::parse(data->tick({}).json)["memory"]["usage_bytes"], 500 * kMiB);
}

TEST_F(ALivePage, AsksTheWatcherForGrowthAndTakesACensusOnlyOnRequest) {
    const auto data = live();
    asked.clear();
    EXPECT_EQ(data->growth({}, "10m").status, 200);
    EXPECT_EQ(data->heap({}, false).status, 200);
    EXPECT_THAT(asked, ElementsAre("/api/v1/growth?target=train&format=json&since=10m&top=200"));
    EXPECT_EQ(data->heap({}, true).status, 200);
    EXPECT_THAT(asked.back(), HasSubstr("/api/v1/heap?target=train"));
}

TEST_F(ALivePage, AnswersOfAnotherVersionAreAnError) {
    auto data = PageData::of_watcher(
        [](const std::string&, Seconds) -> Result<HttpResponse> { return HttpResponse{.body = "something else"}; },
        "train", {}, {});
    EXPECT_FALSE(data);
}

}  // namespace page_data_test
}  // namespace memscope::web
