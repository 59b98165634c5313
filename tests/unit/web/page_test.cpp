#include <gmock/gmock.h>
#include <thread>

#include "record/record.h"
#include "support/fake_tree.h"
#include "support/json.h"
#include "support/recorded_job.h"
#include "web/html_report.h"
#include "web/page_data.h"
#include "web/page_routes.h"

namespace memscope::web {
namespace page_test {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr double kBegan = 1'000'000;  // seconds since 1970
const std::string kHostile = "</script><!--\xe2\x80\xa8\xff&\x1b[2J";

const char* const kIndex =
    "<!doctype html>\n<html><head><meta charset=\"utf-8\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n"
    "<body>\n<script type=\"module\" src=\"/page.js\"></script>\n</body></html>\n";

// A recording that a test writes tick by tick.
struct APage : testing::Test {
    FakeTree tree{{"state/", ""},
                  {"page/index.html", kIndex},
                  {"page/page.js", "console.log(1);\r\n"},
                  {"page/page.css", "body { margin: 0 }\n"},
                  {"page/licences.txt", "none\n"}};
    RecordingStore store = store_in(tree.at("state"));
    fs::path path{};
    std::optional<recording::RecordingFile> writer{};
    std::int64_t id = 0;
    std::string target = "train";

    void begin() {
        auto file = store.create(target, kBegan);
        ASSERT_TRUE(file);
        path = file->path;
        auto made = recording::RecordingFile::create(
            *std::move(file), {{"begin", "1000000"}, {"version", "7"}, {"interval", "1"}}, Seconds{});
        ASSERT_TRUE(made) << made.error().message();
        writer.emplace(*std::move(made));
        id = *writer->add_target({.name = target});
    }
    Snapshot snapshot_of(double at, std::uint64_t mib) const { return tick_of(target, kBegan + at, {mib * kMiB}); }
    void tick(double at, const Snapshot& snapshot) {
        ASSERT_TRUE(writer->add_tick(id, Seconds(at), snapshot, snapshot.targets.front()));
    }
    void tick(double at, std::uint64_t mib) { tick(at, snapshot_of(at, mib)); }
    void event(double at, const char* kind, const std::string& text) {
        ASSERT_TRUE(writer->add_event(id, Seconds(at), kBegan + at, kind, text));
    }
    void growth(double at, const Growth& grown) {
        ASSERT_TRUE(writer->add_growth(id, Seconds(at), kBegan + at, "minute", true, encode_record(grown)));
    }
    void close() { ASSERT_TRUE(writer->close()); }
    RecordedRun opened() {
        auto run = RecordedRun::open(path, {});
        EXPECT_TRUE(run) << (run ? "" : run.error().message());
        return *std::move(run);
    }
    std::unique_ptr<PageData> page() {
        auto data = PageData::of_recording(opened());
        EXPECT_TRUE(data) << (data ? "" : data.error().message());
        (*data)->start();
        while (!json::parse((*data)->run().json)["complete"]) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return *std::move(data);
    }
    PageFiles files() {
        auto loaded = PageFiles::load(tree.at("page"));
        EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message());
        return *std::move(loaded);
    }
    std::string report(const HtmlReportOptions& options = {}) {
        const auto html = html_report(opened(), files(), options);
        EXPECT_TRUE(html) << (html ? "" : html.error().message());
        return *html;
    }
    // The data that the report contains.
    static json data_in(const std::string& html) {
        const std::string begin = "<script type=\"application/json\" id=\"memscope-data\">";
        const auto from = html.find(begin) + begin.size();
        return json::parse(html.substr(from, html.find("</script>", from) - from));
    }
};

const json* series(const json& curves, const std::string& id) {
    for (const json& each : curves["series"])
        if (each["id"] == id) return &each;
    return nullptr;
}

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

TEST_F(APage, SaysWhatIsNotThere) {
    begin();
    tick(0, 100);
    close();
    const auto data = page();
    EXPECT_EQ(data->growth({}, "start").status, 404);
    EXPECT_THAT(json::parse(data->growth({}, "start").json)["error"], "no growth was recorded until then");
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

// A watcher that a test plays.
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
    EXPECT_EQ(run["ticks"], 101);  // 900 to 999, and the one of the watcher
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

TEST_F(ALivePage, AnotherVersionIsNoCrash) {
    auto data = PageData::of_watcher(
        [](const std::string&, Seconds) -> Result<HttpResponse> { return HttpResponse{.body = "something else"}; },
        "train", {}, {});
    EXPECT_FALSE(data);
}

struct Routes : APage {
    std::unique_ptr<PageData> data{};
    PageFiles page_files = files();
    Session session{7777};
    HttpHandler handler{};
    std::string cookie{};

    void SetUp() override {
        begin();
        for (int i = 0; i < 20; ++i) tick(i, 100);
        close();
        data = page();
        handler = make_page_routes(page_files, *data, session);
        HttpRequest request{.path = "/", .hosts = {"127.0.0.1:7777"}};
        request.parameters["token"] = *session.new_token();
        const HttpResponse answer = handler(request);
        for (const auto& [name, value] : answer.headers)
            if (name == "Set-Cookie") cookie = value.substr(value.find('=') + 1, 32);
    }
    HttpResponse get(const std::string& route, std::map<std::string, std::string> parameters = {}) {
        HttpRequest request{.path = route, .parameters = std::move(parameters), .hosts = {"127.0.0.1:7777"}};
        request.cookies["memscope_session_7777"] = cookie;
        HttpResponse response = handler(request);
        return response.later ? response.later() : response;
    }
};

TEST_F(Routes, EveryAnswerHasTheSecurityHeaders) {
    for (const char* route : {"/", "/page.js", "/api/run", "/api/heap", "/nothing", "/api/nothing"}) {
        std::map<std::string, std::string> headers;
        for (const auto& [name, value] : get(route).headers) headers[name] = value;
        EXPECT_THAT(headers["Content-Security-Policy"], HasSubstr("default-src 'none'; script-src 'self';")) << route;
        EXPECT_EQ(headers["Referrer-Policy"], "no-referrer") << route;
    }
}

TEST_F(Routes, ServeThePageAndItsData) {
    EXPECT_EQ(get("/").body, kIndex);
    EXPECT_EQ(get("/").content_type, "text/html; charset=utf-8");
    EXPECT_EQ(get("/page.css").content_type, "text/css; charset=utf-8");
    EXPECT_EQ(json::parse(get("/api/run").body)["ticks"], 20);
    EXPECT_EQ(json::parse(get("/api/curves", {{"width", "20"}}).body)["time"].size(), 20U);
    EXPECT_EQ(json::parse(get("/api/tick", {{"at", "1000003.5"}}).body)["time"], kBegan + 3);
    EXPECT_EQ(get("/api/live", {{"after", "0"}}).status, 200);
    for (const char* route : {"/index.html", "/../page.js", "/page", "/.", "//page.js"})
        EXPECT_EQ(get(route).status, 404);
    EXPECT_EQ(get("/api/nothing").status, 404);
}

TEST_F(Routes, RefuseWhatIsNoNumber) {
    for (const char* bad : {"", "x", "1e99", "nan", "inf", "1 ", "0x10", "-"}) {
        EXPECT_EQ(get("/api/tick", {{"at", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/curves", {{"from", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/live", {{"after", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/growth", {{"at", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/heap", {{"at", bad}}).status, 400) << bad;
    }
    EXPECT_EQ(get("/api/curves", {{"width", "15"}}).status, 400);
    EXPECT_EQ(get("/api/curves", {{"width", "4001"}}).status, 400);
    EXPECT_EQ(get("/api/curves", {{"from", "2"}, {"to", "1"}}).status, 400);
    EXPECT_EQ(get("/api/growth", {{"since", "yesterday"}}).status, 400);
    EXPECT_TRUE(json::parse(get("/api/tick", {{"at", "x"}}).body).contains("error"));
}

TEST(EscapedForHtml, HasNothingThatEndsAScript) {
    EXPECT_EQ(escaped_for_html(R"({"a":"</script>&<!--"})"), R"({"a":"\u003c/script\u003e\u0026\u003c!--"})");
    EXPECT_EQ(escaped_for_html("\"a\u2028b\u2029c\u2027\""), "\"a\\u2028b\\u2029c\u2027\"");
    EXPECT_EQ(escaped_for_html("\xe2"), "\xe2");
}

TEST(ChooseMoments, HasTheWantedOnesAndOthersEvenly) {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) times.push_back(i);
    const auto chosen = choose_moments(times, {500.5, 1e9, -5}, 13);
    EXPECT_THAT(chosen, SizeIs(testing::Le(13U)));
    EXPECT_THAT(chosen, testing::IsSupersetOf({0.0, 500.0, 999.0}));
    for (std::size_t i = 1; i < chosen.size(); ++i) EXPECT_LT(chosen[i] - chosen[i - 1], 201);
    EXPECT_THAT(choose_moments(times, times, 5), SizeIs(5));
    EXPECT_THAT(choose_moments({}, {1}, 5), SizeIs(0));
    EXPECT_THAT(choose_moments({3}, {1}, 5), ElementsAre(3));
}

TEST_F(APage, TheReportIsOneFileWithItsHashes) {
    begin();
    for (int i = 0; i < 100; ++i) tick(i, 100);
    growth(50, {.sentence = "It grows."});
    close();
    const std::string html = report();
    // printf 'console.log(1);\n' | openssl dgst -sha256 -binary | base64, and the same of the style.
    EXPECT_THAT(html, HasSubstr("script-src 'sha256-tgPZRusrOWyk7PZcIj2v9lnb5vHP6sI1t8YdO6aWTK4='; style-src "
                                "'sha256-tNXesvGaWcyGg+RDJEJF+tfC6aIuILAtwgaGmMaalSg=';"));
    EXPECT_THAT(html,
                AllOf(HasSubstr("<style>body { margin: 0 }\n</style>"), HasSubstr("<script>console.log(1);\n</script>"),
                      HasSubstr("default-src 'none'"), Not(HasSubstr("href=")), Not(HasSubstr("src="))));
    const json data = data_in(html);
    EXPECT_EQ(data["run"]["mode"], "report");
    EXPECT_EQ(data["run"]["complete"], true);
    EXPECT_THAT(data["curves"], SizeIs(1));
    EXPECT_TRUE(series(data["curves"][0], "role:trainer"));
    EXPECT_EQ(data["ticks"].front()["time"], kBegan);
    EXPECT_EQ(data["ticks"].back()["time"], kBegan + 99);
    EXPECT_EQ(data["growth"][0]["at"], kBegan + 50);
    EXPECT_EQ(data["growth"][0]["growth"]["sentence"], "It grows.");
    EXPECT_THAT(data["heap"], SizeIs(0));
}

TEST_F(APage, HostileNamesStayData) {
    target = kHostile;
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    snapshot.targets.front().processes.front().task.comm = kHostile;
    Death death{.time = kBegan, .id = {7, 1}, .comm = kHostile, .cause = DeathCause::sigkill, .explanation = kHostile};
    snapshot.targets.front().deaths = {death};
    tick(0, snapshot);
    event(0, "death", kHostile);
    growth(0, {.sentence = kHostile});
    close();
    const std::string html = report();
    const auto count = [&](std::string_view word) {
        std::size_t times = 0;
        for (auto at = html.find(word); at != std::string::npos; at = html.find(word, at + 1)) ++times;
        return times;
    };
    EXPECT_EQ(count("</script>"), 2U);  // of the data and of the program
    EXPECT_EQ(count("<!--"), 0U);
    EXPECT_EQ(count("\u2028"), 0U);
    const json data = data_in(html);  // it parses, so it is valid UTF-8
    EXPECT_EQ(data["ticks"][0]["processes"][0]["comm"], "</script><!--\u2028\ufffd&\x1b[2J");
}

TEST_F(APage, TheReportHasCommandsOnlyOnRequest) {
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    const auto secret = std::make_shared<const std::string>("python3 train.py --api-key SECRET");
    snapshot.targets.front().processes.front().command = secret;
    snapshot.targets.front().deaths = {{.time = kBegan, .id = {7, 1}, .comm = "python3", .command = secret}};
    snapshot.targets.front().last_death = snapshot.targets.front().deaths.front();
    tick(0, snapshot);
    tick(1, 100);
    event(0, "action", "train: --on-precursor curl https://hook.example/SECRET");
    close();
    const std::string html = report();
    EXPECT_THAT(html, Not(HasSubstr("SECRET")));
    EXPECT_THAT(html, Not(HasSubstr("train.py")));
    EXPECT_EQ(data_in(html)["run"]["with_commands"], false);
    EXPECT_THAT(data_in(html)["run"]["events"], SizeIs(1));
    const std::string whole = report({.with_commands = true});
    EXPECT_THAT(whole, AllOf(HasSubstr("--api-key SECRET"), HasSubstr("hook.example/SECRET")));
}

TEST_F(APage, TheReportIsBounded) {
    begin();
    Snapshot snapshot = snapshot_of(0, 100);
    for (int i = 0; i < 60; ++i) {
        Process process = snapshot.targets.front().processes.front();
        process.task.id = {1000 + i, 1};
        snapshot.targets.front().processes.push_back(process);
        snapshot.targets.front().roles[{Role::trainer, i}] = {
            .anon = {1'000'000'000'000 + 12345ULL * static_cast<unsigned>(i)}};
    }
    for (int i = 0; i < 300; ++i) {
        snapshot.time = kBegan + i;
        tick(i, snapshot);
        event(i, "notice", std::string(1000, '<'));
        event(i, "notice", std::string(1000, '<'));
    }
    close();
    const std::string html = report();
    EXPECT_LT(html.size(), 5'000'000U);
    const json data = data_in(html);
    EXPECT_THAT(data["curves"], SizeIs(1));
    EXPECT_GT(data["ticks"].size(), 2U);
    // The last ones.
    EXPECT_GT(data["run"]["events"].size(), 20U);
    EXPECT_EQ(data["run"]["events"].size() + data["run"]["events_left_out"].get<std::size_t>(), 600U);
    EXPECT_EQ(data["run"]["events"].back()["time"], kBegan + 299);
}

TEST_F(APage, APageThatCannotBeInlinedIsRefused) {
    EXPECT_FALSE(assemble_html(kIndex, "a = '</SCRIPT>'", "", "{}"));
    EXPECT_FALSE(assemble_html(kIndex, "a = '<!--'", "", "{}"));
    EXPECT_FALSE(assemble_html(kIndex, "", "</style", "{}"));
    EXPECT_FALSE(assemble_html("<html></html>", "", "", "{}"));
    EXPECT_TRUE(assemble_html(kIndex, "1 < 2", "a { }", "{}"));
}

}  // namespace page_test
}  // namespace memscope::web
