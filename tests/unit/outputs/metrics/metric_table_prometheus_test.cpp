#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "example.h"
#include "metrics_page.h"
#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace metric_table_prometheus_test {

using testing::HasSubstr;
using testing::Not;

TEST(Prometheus, ByteCountsAreExactUpTo2ToThe53) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].memory.usage = Bytes{9007199254740991};
    EXPECT_THAT(render_prometheus(snapshot),
                HasSubstr("memscope_memory_usage_bytes{target=\"train\"} 9007199254740991\n"));
}

TEST(Prometheus, AllSixEventsAreZeroAtTheFirstScrape) {
    const std::string text = render_prometheus(test::example());
    for (const auto* event : {"low", "high", "max", "oom", "oom_kill", "oom_group_kill"})
        EXPECT_THAT(
            text, HasSubstr(std::string("memscope_memory_events_total{target=\"train\",event=\"") + event + "\"} 0\n"));
}

TEST(Prometheus, EveryPrecursorIsExportedAndThePresentOneIsOne) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].precursors = {{PrecursorKind::shm_full, 1, "full"}};
    const std::string text = render_prometheus(snapshot);
    for (const auto* word :
         {"eta", "near_limit", "pressure", "reclaim", "refault", "high_throttled", "shm_full", "host_low"})
        EXPECT_THAT(text, HasSubstr(std::string("memscope_oom_precursor{target=\"train\",precursor=\"") + word +
                                    "\"} " + (std::string(word) == "shm_full" ? "1" : "0") + "\n"));
}

TEST(Prometheus, PrecursorsOfTheHostDifferFromThoseOfTheJob) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].precursors = {{PrecursorKind::eta, 1, "own", false},
                                      {PrecursorKind::near_limit, 1, "host", true}};
    const std::string text = render_prometheus(snapshot);
    const std::string start = "memscope_oom_precursor_of_host{target=\"train\",precursor=\"";
    EXPECT_THAT(text, HasSubstr(start + "eta\"} 0\n"));
    EXPECT_THAT(text, HasSubstr(start + "near_limit\"} 1\n"));
    EXPECT_THAT(text, Not(HasSubstr(start + "host_low"))) << "it is never of anything else";
}

TEST(Prometheus, TheNearestLimitHasOneOwner) {
    Snapshot snapshot = test::example();
    for (const auto& [owner, word] : {std::pair{"own", "own"}, {"jobs.slice/a", "ancestor"}, {"host", "host"}}) {
        snapshot.targets[0].memory.effective = EffectiveLimit{owner, test::gib(64), test::gib(1)};
        const std::string text = render_prometheus(snapshot);
        for (const std::string each : {"own", "ancestor", "host"})
            EXPECT_THAT(text, HasSubstr("memscope_memory_limit_owner{target=\"train\",owner=\"" + each + "\"} " +
                                        (each == word ? "1" : "0") + "\n"))
                << owner;
    }
}

TEST(Prometheus, TheLimitThatIsReachedFirstHasASeparateOwner) {
    Snapshot snapshot = test::example();
    Forecast& forecast = *snapshot.targets[0].verdicts[0].forecast;
    forecast.limit = EffectiveLimit{"host", test::gib(256), test::gib(100)};
    std::string text = render_prometheus(snapshot);
    EXPECT_THAT(text, HasSubstr("memscope_memory_limit_owner{target=\"train\",owner=\"own\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("memscope_oom_eta_limit_owner{target=\"train\",owner=\"own\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("memscope_oom_eta_limit_owner{target=\"train\",owner=\"host\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("memscope_oom_eta_limit_bytes{target=\"train\"} 274877906944\n"));
    snapshot.targets[0].verdicts[0].forecast.reset();
    text = render_prometheus(snapshot);
    EXPECT_THAT(text, Not(HasSubstr("memscope_oom_eta_limit_owner{")));
    EXPECT_THAT(text, Not(HasSubstr("memscope_oom_eta_limit_bytes{")));
}

TEST(Prometheus, TheBasisOfAForecastIsLeakWarmupOrTrend) {
    using Basis = Forecast::Basis;
    Snapshot snapshot = test::example();
    for (const auto& [basis, label] :
         {std::pair{Basis::leak, "leak"}, {Basis::spike, "leak"}, {Basis::warmup, "warmup"}, {Basis::trend, "trend"}}) {
        snapshot.targets[0].verdicts[0].forecast->basis = basis;
        EXPECT_THAT(
            render_prometheus(snapshot),
            HasSubstr(std::string("scope=\"target\",role=\"\",rank=\"\",gpu=\"\",basis=\"") + label + "\"} 600\n"));
    }
}

TEST(Prometheus, TheKernelsHighWaterMarkIsAbsentWhereThereIsNone) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].memory.peak = Bytes{123456};
    EXPECT_THAT(render_prometheus(snapshot), HasSubstr("memscope_memory_peak_bytes{target=\"train\"} 123456\n"));
    snapshot.targets[0].memory.peak.reset();
    EXPECT_THAT(render_prometheus(snapshot), Not(HasSubstr("memscope_memory_peak_bytes")));
}

TEST(Prometheus, ReclaimStallsAreZeroOrUnknown) {
    Snapshot snapshot = test::example();
    EXPECT_THAT(render_prometheus(snapshot), HasSubstr("memscope_reclaim_stall_seconds_total{target=\"train\"} 0\n"));
    snapshot.targets[0].reclaim.reset();
    EXPECT_THAT(render_prometheus(snapshot), Not(HasSubstr("memscope_reclaim_stall_seconds_total")));
    snapshot.targets[0].reclaim = ReclaimStalls{.memcg = Seconds{1.5}, .direct = Seconds{0.5}, .stalls = 3};
    EXPECT_THAT(render_prometheus(snapshot), HasSubstr("memscope_reclaim_stall_seconds_total{target=\"train\"} 2\n"));
}

TEST(Prometheus, UnknownValuesHaveNoLine) {
    Snapshot snapshot = test::example();
    auto& target = snapshot.targets[0];
    target.memory.limit = Unlimited{};
    target.memory.effective.reset();
    target.memory.events.reset();
    target.memory.pressure.reset();
    target.shm.reset();
    const std::string text = render_prometheus(snapshot);
    for (const auto* name :
         {"memscope_memory_limit_bytes", "memscope_memory_effective_limit_bytes", "memscope_memory_limit_owner",
          "memscope_memory_events_total", "memscope_pressure_stalled_seconds_total", "memscope_shm_"})
        EXPECT_THAT(text, Not(HasSubstr(name)));
    EXPECT_THAT(text, HasSubstr("memscope_memory_usage_bytes{target=\"train\"}"));
}

TEST(Prometheus, RankIsEmptyWhereThereIsNone) {
    const std::string text = render_prometheus(test::example());
    EXPECT_THAT(text, HasSubstr("memscope_processes{target=\"train\",role=\"launcher\",rank=\"\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("memscope_processes{target=\"train\",role=\"dataloader_worker\",rank=\"0\"} 3\n"));
}

TEST(Prometheus, ARoleThatIsGoneKeepsItsCountersButNotItsGauges) {
    Snapshot snapshot = test::example();
    const RoleKey workers{Role::dataloader_worker, 0};
    snapshot.targets[0].roles.erase(workers);
    snapshot.targets[0].counters[workers].exits = 3;
    const std::string text = render_prometheus(snapshot);
    EXPECT_THAT(text, Not(HasSubstr("memscope_processes{target=\"train\",role=\"dataloader_worker\"")));
    EXPECT_THAT(text, Not(HasSubstr("memscope_role_resident_bytes{target=\"train\",role=\"dataloader_worker\"")));
    EXPECT_THAT(text,
                HasSubstr("memscope_process_exits_total{target=\"train\",role=\"dataloader_worker\",rank=\"0\"} 3\n"));
}

TEST(Prometheus, AnEndedTargetIsDown) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].up = false;
    EXPECT_THAT(render_prometheus(snapshot), HasSubstr("memscope_target_up{target=\"train\"} 0\n"));
}

TEST(Prometheus, AHostileTargetNameStaysInsideItsQuotes) {
    Snapshot snapshot = test::example();
    snapshot.targets[0].info.name = "x\"} 1\nevil 1\n\\\xff";
    const std::string text = render_prometheus(snapshot);
    EXPECT_EQ(valid_utf8(text), text);
    EXPECT_THAT(text, HasSubstr("memscope_target_up{target=\"x\\\"} 1\\nevil 1\\n\\\\\uFFFD\"} 1\n"));
    for_each_line(text, [](std::string_view line) {
        EXPECT_TRUE(line.starts_with("# ") || line.starts_with("memscope_") || line.starts_with("process_")) << line;
    });
}

TEST(Prometheus, PromtoolHasNoComplaints) {
    ASSERT_EQ(std::system("command -v promtool >/dev/null"), 0) << "promtool is missing: ./dev deps";
    Snapshot snapshot = test::example();
    snapshot.targets.push_back(test::training("b\"\n\\\xff"));
    const std::string file = testing::TempDir() + "memscope_metrics_" + std::to_string(::getpid());
    std::ofstream(file) << render_prometheus(snapshot);
    EXPECT_EQ(std::system(("promtool check metrics < " + file).c_str()), 0);
    fs::remove(file);
}

TEST(MetricsPage, MatchesTheMetricTable) {
    const fs::path file = fs::path(MEMSCOPE_SOURCE_DIR) / "docs/metrics.md";
    if (std::getenv("MEMSCOPE_UPDATE_DOCS")) std::ofstream(file) << render_metrics_page();
    const auto text = read_file(file);
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, render_metrics_page()) << "run this test with MEMSCOPE_UPDATE_DOCS=1 to write " << file;
}

}  // namespace metric_table_prometheus_test
}  // namespace memscope
