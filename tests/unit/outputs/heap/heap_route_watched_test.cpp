// Heap censuses that a watcher has taken, in its outputs.
#include <gmock/gmock.h>

#include "example.h"
#include "outputs/deaths/death_text.h"
#include "outputs/heap/heap_route.h"
#include "outputs/heap/heap_text.h"
#include "outputs/http/routes.h"
#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "outputs/text/status_text.h"
#include "support/json.h"

namespace memscope {
namespace heap_route_watched_test {

using test::gib;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr RoleKey kTrainer{Role::trainer, 0};

// The trainer, and two workers of one role.
Snapshot with_heap() {
    Snapshot snapshot = test::example();
    const RoleKey workers{Role::dataloader_worker, 0};
    snapshot.targets[0].heap = {test::heap(101, kTrainer, snapshot.time - 120, gib(11), gib(20)),
                                test::heap(110, workers, snapshot.time - 60, gib(2), gib(1)),
                                test::heap(112, workers, snapshot.time - 60, gib(1), gib(1))};
    snapshot.targets[0].heap[0].earlier = test::heap(101, kTrainer, snapshot.time - 720, gib(10), gib(12)).census;
    return snapshot;
}

TEST(WatchedHeap, MetricsAreThoseOfTheLargestProcessOfEachRole) {
    const std::string text = render_prometheus(with_heap());
    EXPECT_THAT(text,
                HasSubstr("memscope_heap_bytes{target=\"train\",role=\"trainer\",rank=\"0\",part=\"malloc_free\"} " +
                          std::to_string(gib(20).n)));
    EXPECT_THAT(text, HasSubstr("memscope_heap_bytes{target=\"train\",role=\"dataloader_worker\",rank=\"0\",part="
                                "\"malloc_live\"} " +
                                std::to_string(gib(2).n)));
    EXPECT_THAT(text, HasSubstr("memscope_heap_age_seconds{target=\"train\",role=\"trainer\",rank=\"0\"} 120"));
    EXPECT_THAT(text, HasSubstr("memscope_heap_trimmable_bytes{target=\"train\",role=\"trainer\",rank=\"0\"} " +
                                std::to_string(gib(20).n / 10 * 9)));
}

TEST(WatchedHeap, ThereAreNoMetricsBeforeTheFirstCensusAndNoneOfUnknownNumbers) {
    EXPECT_THAT(render_prometheus(test::example()), Not(HasSubstr("memscope_heap")));
    Snapshot snapshot = with_heap();
    for (ProcessHeap& heap : snapshot.targets[0].heap) heap.census.allocator = {.name = AllocatorName::jemalloc};
    EXPECT_THAT(render_prometheus(snapshot),
                AllOf(HasSubstr("memscope_heap_bytes"), Not(HasSubstr("memscope_heap_trimmable_bytes"))));
}

TEST(WatchedHeap, ATickHasTheProcessesOfACensus) {
    const Snapshot snapshot = with_heap();
    const auto tick = nlohmann::json::parse(tick_json(snapshot, snapshot.targets[0]));
    ASSERT_EQ(tick["heap"].size(), 3U);
    const auto& trainer = tick["heap"][0];
    EXPECT_EQ(trainer["pid"], 101);
    EXPECT_EQ(trainer["role"], "trainer");
    EXPECT_EQ(trainer["parts"][1]["part"], "malloc_free");
    EXPECT_EQ(trainer["parts"][1]["change_bytes"], static_cast<std::int64_t>(gib(8).n));
    EXPECT_TRUE(tick["heap"][1]["parts"][1]["change_bytes"].is_null());
    EXPECT_EQ(nlohmann::json::parse(tick_json(test::example(), test::example().targets[0]))["heap"].size(), 0U);
}

TEST(WatchedHeap, TheStatusShowsThePartsOfTheLargestProcessAndTheirAge) {
    const Snapshot snapshot = with_heap();
    EXPECT_EQ(heap_line(snapshot.targets[0], snapshot.time),
              "malloc live 11 GiB, malloc free 20 GiB (trainer of rank 0, pid 101, 2 min ago)");
    EXPECT_THAT(status_text(snapshot, snapshot.targets[0], false),
                HasSubstr("heap: malloc live 11 GiB, malloc free 20"));
    EXPECT_THAT(status_text(test::example(), test::example().targets[0], false), Not(HasSubstr("heap:")));
}

TEST(WatchedHeap, ADeathReportHasTheLastCensus) {
    DeathReport report{.deaths = {Death{.time = 1000, .explanation = "killed"}}, .then = with_heap()};
    report.deaths[0].time = report.then.time + 1;
    std::string block;
    for (const std::string& line : death_block(report, "")) block += line + "\n";
    EXPECT_THAT(block, HasSubstr("heap       malloc live 11 GiB, malloc free 20 GiB"));
}

struct Asked {
    std::vector<std::optional<pid_t>> pids{};
    HeapAnswer answer{};
    HeapSource source() {
        return [this](const TargetSnapshot&, std::optional<pid_t> pid) {
            pids.push_back(pid);
            return answer;
        };
    }
};

HttpRequest request(std::map<std::string, std::string> parameters) {
    return {.path = "/api/v1/heap", .parameters = std::move(parameters)};
}

TEST(HeapRoute, AnswersWithTheCensusesThatWereTaken) {
    const Snapshot snapshot = with_heap();
    Asked asked{.answer = {.processes = {snapshot.targets[0].heap[0]}}};
    const HttpResponse response = answer_heap(snapshot.targets[0], asked.source(), request({}));
    EXPECT_EQ(response.status, 200);
    const auto body = nlohmann::json::parse(response.body);
    EXPECT_EQ(body["target"], "train");
    EXPECT_EQ(body["processes"].size(), 1U);
    EXPECT_EQ(body["since_seconds"], 600);
    EXPECT_EQ(asked.pids.front(), std::nullopt);
    const HttpResponse text =
        answer_heap(snapshot.targets[0], asked.source(), request({{"format", "text"}, {"pid", "101"}}));
    EXPECT_EQ(text.status, 200);
    EXPECT_THAT(text.body, HasSubstr("20"));
    EXPECT_EQ(asked.pids.back(), 101);
}

TEST(HeapRoute, SaysHowManyLargeProcessesWereNotRead) {
    Snapshot snapshot = with_heap();
    TargetSnapshot& target = snapshot.targets[0];
    target.processes.clear();
    for (pid_t pid = 101; pid <= 109; ++pid) {  // eight equal ranks, and a small process
        Process process;
        process.task.id = {pid, 1};
        process.task.memory = AddressSpace{.anon = pid == 109 ? Bytes{1 << 20} : gib(2)};
        target.processes.push_back(process);
    }
    Asked asked{.answer = {.processes = std::vector<ProcessHeap>(4, target.heap[0])}};
    EXPECT_EQ(nlohmann::json::parse(answer_heap(target, asked.source(), request({})).body)["processes_left_out"], 4);
    EXPECT_THAT(answer_heap(target, asked.source(), request({{"format", "text"}})).body,
                HasSubstr("not read: 4 more large processes."));
    asked.answer.processes.resize(1);
    const auto one = answer_heap(target, asked.source(), request({{"format", "text"}, {"pid", "101"}}));
    EXPECT_THAT(one.body, Not(HasSubstr("not read"))) << "one process was asked for";
}

TEST(HeapRoute, SaysWhyThereIsNoAnswer) {
    Snapshot snapshot = with_heap();
    Asked asked{.answer = {.failed = {system_error(ETIMEDOUT, "take a heap census")}}};
    const HttpResponse failed = answer_heap(snapshot.targets[0], asked.source(), request({}));
    EXPECT_EQ(failed.status, 503);
    EXPECT_THAT(failed.body, HasSubstr("take a heap census"));
    EXPECT_EQ(answer_heap(snapshot.targets[0], asked.source(), request({{"pid", "1"}})).status, 404);
    EXPECT_EQ(answer_heap(snapshot.targets[0], asked.source(), request({{"pid", "x"}})).status, 400);
    EXPECT_EQ(answer_heap(snapshot.targets[0], asked.source(), request({{"format", "x"}})).status, 400);
    snapshot.targets[0].up = false;
    EXPECT_EQ(answer_heap(snapshot.targets[0], asked.source(), request({})).status, 404);
    EXPECT_EQ(asked.pids.size(), 1U) << "nothing else was read";
}

TEST(HeapRoute, AnswersLaterAndOnlyIfCensusesCanBeTaken) {
    LatestSnapshot latest_snapshot;
    latest_snapshot.publish(std::make_shared<const Snapshot>(with_heap()));
    Asked asked{.answer = {.processes = {with_heap().targets[0].heap[0]}}};
    EXPECT_EQ(make_routes(latest_snapshot, {.status = true})(request({{"target", "train"}})).status, 404);
    const auto routes = make_routes(latest_snapshot, {.status = true, .heap = asked.source()});
    const HttpResponse response = routes(request({{"target", "train"}}));
    ASSERT_TRUE(response.later) << "the thread that serves /metrics does not wait";
    EXPECT_TRUE(asked.pids.empty());
    EXPECT_EQ(response.later().status, 200);
    EXPECT_EQ(routes(request({{"target", "other"}})).status, 404);
}

}  // namespace heap_route_watched_test
}  // namespace memscope
