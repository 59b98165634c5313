#include "watch/deaths/death_reporter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <malloc.h>

#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "support/json.h"

namespace memscope {
namespace death_reporter_test {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Growth whose symbols are loaded.
DeathReporter::GrowthThen then(Growth growth) {
    return [growth = std::move(growth)](DeathReporter::Symbols) { return growth; };
}

// A watcher that ticks once a second.
struct AReporter : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state/memscope");
    DeathReporter reporter{ReportStore::open(directory),
                           [](const TargetSnapshot&) { return then(test::leaked_growth()); }};
    double time = test::kDied - 10;

    std::vector<std::vector<std::string>> tick(TargetSnapshot target) {
        Snapshot snapshot;
        snapshot.time = time;
        snapshot.targets = {std::move(target)};
        reporter.take(snapshot, Seconds(time));
        reporter.remember(std::make_shared<const Snapshot>(snapshot));
        time += 1;
        return reporter.finish_reports(Seconds(time));
    }
    static TargetSnapshot empty_with(std::vector<Death> deaths) {
        TargetSnapshot target = test::nearly_full();
        target.processes.clear();
        target.roles.clear();
        target.memory.usage = test::in_mib(1);
        target.deaths = std::move(deaths);
        return target;
    }
    std::vector<json> written() const {
        std::vector<json> reports;
        const auto paths = find_reports(directory);
        for (const fs::path& path : *paths) reports.push_back(json::parse(*read_file(path, 1 << 24)));
        return reports;
    }
};

TEST_F(AReporter, WritesTheMemoryOfTheTickBeforeTheDeath) {
    for (int i = 0; i < 9; ++i) tick(test::nearly_full());
    const auto blocks = tick(empty_with({test::oom_kill_of_trainer()}));
    const auto reports = written();
    ASSERT_THAT(reports, SizeIs(1));
    const json& report = reports[0];
    EXPECT_EQ(report["deaths"].size(), 1);
    EXPECT_EQ(report["then"]["time"], test::kDied - 2);
    EXPECT_EQ(report["then"]["memory"]["usage_bytes"], 508 << 20);
    EXPECT_EQ(report["then"]["processes"].size(), 3);
    EXPECT_EQ(report["series"].size(), 9);
    EXPECT_EQ(report["growth"]["resident"][0]["bytes"], 400 << 20);
    EXPECT_THAT(report["advice"][0].get<std::string>(), HasSubstr("history.py:41"));
    ASSERT_THAT(blocks, SizeIs(1));
    EXPECT_THAT(blocks[0], Contains(HasSubstr("memscope report " + directory.string())));
    EXPECT_THAT(tick(empty_with({})), IsEmpty());
}

// A job that began and died since the tick before: at that tick the run before was the current one.
TEST_F(AReporter, RequestsTheGrowthOfTheRunThatDied) {
    std::vector<RunId> asked;
    DeathReporter curious{ReportStore::open(directory), [&](const TargetSnapshot& target) {
                              asked.push_back(target.run);
                              return then(test::leaked_growth());
                          }};
    const auto report = [&](TargetSnapshot target) {
        Snapshot snapshot;
        snapshot.time = time++;
        snapshot.targets = {std::move(target)};
        curious.take(snapshot, Seconds(time));
        curious.remember(std::make_shared<const Snapshot>(snapshot));
        curious.finish_reports(Seconds(time));
    };
    TargetSnapshot first = test::nearly_full();
    first.run = RunId{1};
    report(first);
    Death worker = test::oom_kill_of_trainer();
    worker.run = RunId{1};  // it is from the previous run
    Death trainer = test::oom_kill_of_trainer();
    trainer.run = RunId{2};
    TargetSnapshot last = empty_with({worker, trainer});
    last.run = RunId{3};  // has begun already
    report(last);
    EXPECT_THAT(asked, ElementsAre(RunId{2}));
}

// A report lists 200 processes, but growth is that of all.
TEST_F(AReporter, RequestsTheGrowthOfAllProcesses) {
    std::vector<std::size_t> asked;
    DeathReporter curious{ReportStore::open(directory), [&](const TargetSnapshot& target) {
                              asked.push_back(target.processes.size());
                              return then(test::leaked_growth());
                          }};
    TargetSnapshot target = test::nearly_full();
    target.processes.resize(1000, target.processes.back());
    Snapshot alive{.time = test::kDied - 1, .targets = {target}};
    curious.take(alive, Seconds(1));
    curious.remember(std::make_shared<const Snapshot>(alive));
    curious.take({.time = test::kDied + 1, .targets = {empty_with({test::oom_kill_of_trainer()})}}, Seconds(2));
    (void)curious.finish_reports(Seconds(time));
    EXPECT_THAT(asked, ElementsAre(1000U));
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_EQ(written()[0]["then"]["processes"].size(), 200U);
}

// The report is written first, because memscope may be killed while it waits for the growth.
TEST_F(AReporter, WritesTheReportBeforeItRequestsGrowth) {
    std::size_t there = 0;
    DeathReporter careful{ReportStore::open(directory), [&](const TargetSnapshot&) {
                              there = written().size();
                              return then(test::leaked_growth());
                          }};
    Snapshot snapshot;
    snapshot.time = time;
    snapshot.targets = {empty_with({test::oom_kill_of_trainer()})};
    careful.take(snapshot, Seconds(time));
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_TRUE(written()[0]["growth"].is_null());
    careful.finish_reports(Seconds(time));
    EXPECT_EQ(there, 1);
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_FALSE(written()[0]["growth"].is_null());
}

struct WithoutSymbols : AReporter {
    bool loaded = false;
    DeathReporter reporter{ReportStore::open(directory), [this](const TargetSnapshot&) {
                               return [this](DeathReporter::Symbols symbols) -> std::optional<Growth> {
                                   if (!loaded && symbols == DeathReporter::Symbols::when_loaded) return std::nullopt;
                                   return test::leaked_growth();
                               };
                           }};

    void die(std::vector<Death> deaths, double seconds) {
        reporter.take({.time = test::kDied, .targets = {empty_with(std::move(deaths))}}, Seconds(seconds));
    }
};

TEST_F(WithoutSymbols, ADeathIsPrintedWhenSymbolsAreLoaded) {
    die({test::oom_kill_of_trainer()}, 100);
    EXPECT_THAT(reporter.finish_reports(Seconds(100)), IsEmpty());
    EXPECT_TRUE(reporter.awaits_symbols());
    EXPECT_THAT(reporter.reported(), IsEmpty());
    EXPECT_THAT(reporter.take_reports(), IsEmpty());
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_TRUE(written()[0]["growth"].is_null());
    loaded = true;
    EXPECT_THAT(reporter.finish_reports(Seconds(100.1)), SizeIs(1));
    EXPECT_FALSE(reporter.awaits_symbols());
    EXPECT_THAT(reporter.reported(), SizeIs(1));
    EXPECT_THAT(reporter.take_reports(), SizeIs(1));
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_FALSE(written()[0]["growth"].is_null());
    EXPECT_THAT(reporter.finish_reports(Seconds(100.2)), IsEmpty());
}

TEST_F(WithoutSymbols, ADeathIsPrintedAfterASecondOrAtTheEnd) {
    EXPECT_EQ(reporter.symbols_until(), std::nullopt);
    die({test::oom_kill_of_trainer()}, 100);
    EXPECT_THAT(reporter.finish_reports(Seconds(100)), IsEmpty());
    EXPECT_EQ(reporter.symbols_until(), Seconds(101));
    EXPECT_THAT(reporter.finish_reports(Seconds(100.9)), IsEmpty());
    EXPECT_EQ(reporter.symbols_until(), Seconds(101));
    EXPECT_THAT(reporter.finish_reports(Seconds(101)), SizeIs(1));
    EXPECT_EQ(reporter.symbols_until(), std::nullopt);
    Death later = test::oom_kill_of_trainer();
    later.time += 60;
    later.id.pid += 1;
    reporter.take({.time = later.time, .targets = {empty_with({later})}}, Seconds(160));
    EXPECT_THAT(reporter.finish_reports(Seconds(160)), IsEmpty());
    EXPECT_THAT(reporter.finish_reports(Seconds(160), DeathReporter::Symbols::as_loaded), SizeIs(1));
}

TEST_F(WithoutSymbols, DeathsWhileSymbolsLoadAreInTheSameReport) {
    die({test::oom_kill_of_trainer()}, 100);
    EXPECT_THAT(reporter.finish_reports(Seconds(100)), IsEmpty());
    Death next = test::oom_kill_of_trainer();
    next.id.pid += 1;
    die({next}, 100.5);
    EXPECT_THAT(reporter.finish_reports(Seconds(100.5)), IsEmpty());
    const auto tick = std::make_shared<const Snapshot>(Snapshot{.targets = {empty_with({next})}});
    EXPECT_THAT(reporter.others(tick)->targets[0].deaths, IsEmpty()) << "the report has its line";
    loaded = true;
    const auto blocks = reporter.finish_reports(Seconds(100.6));
    ASSERT_THAT(blocks, SizeIs(1));
    EXPECT_THAT(blocks[0], Contains(HasSubstr("1 more process at the same time")));
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_EQ(written()[0]["deaths"].size(), 2);
}

TEST_F(AReporter, TeardownMakesNoReport) {
    tick(test::nearly_full());
    Death teardown = test::oom_kill_of_trainer();
    teardown.cause = DeathCause::sigkill;
    teardown.sender = DeathSender::tree;
    teardown.news = false;
    EXPECT_THAT(tick(empty_with({teardown})), IsEmpty());
    EXPECT_THAT(written(), IsEmpty());
}

TEST_F(AReporter, WritesTheEventsBeforeTheDeath) {
    TargetSnapshot calm = test::nearly_full();
    calm.verdicts[0].judgement.verdict = Verdict::warming_up;
    calm.precursors.clear();
    tick(calm);
    tick(test::nearly_full());
    tick(empty_with({test::oom_kill_of_trainer()}));
    std::vector<std::string> kinds;
    const auto reports = written();
    for (const json& event : reports.at(0)["events"]) kinds.push_back(event["kind"]);
    EXPECT_THAT(kinds, ElementsAre("start", "warm-up", "leak", "precursor", "verdict", "verdict"));
}

TEST_F(AReporter, KeepsTheHistoryOfATargetThatOneTickCouldNotRead) {
    TargetSnapshot target = test::nearly_full();
    target.precursors = {{PrecursorKind::near_limit, 1, "97 % of its own limit"}};
    for (int i = 0; i < 4; ++i) tick(target);
    Snapshot without;
    without.time = time;
    without.unread = {target.info.name};
    reporter.take(without, Seconds(time));
    reporter.remember(std::make_shared<const Snapshot>(without));
    time += 1;
    for (int i = 0; i < 4; ++i) tick(target);
    tick(empty_with({test::oom_kill_of_trainer()}));
    const auto reports = written();
    ASSERT_THAT(reports, SizeIs(1));
    EXPECT_EQ(reports[0]["series"].size(), 8U);
    std::size_t precursors = 0;
    for (const json& event : reports[0]["events"]) precursors += event["kind"] == "precursor" ? 1 : 0;
    EXPECT_EQ(precursors, 1U) << reports[0]["events"];
}

TEST_F(AReporter, ACrashLoopWritesFewReportsAndCountsTheRest) {
    for (int i = 0; i < 1000; ++i) {
        tick(test::nearly_full());
        Death death = test::oom_kill_of_trainer();
        death.time = time;
        death.id = {1000 + i, 1};
        tick(empty_with({death}));
    }
    const auto reports = written();
    EXPECT_THAT(reports, SizeIs(testing::AllOf(testing::Ge(6), testing::Le(12))));  // 33 minutes: 5, then one in 5 min
    std::size_t reported = 0;
    for (const json& report : reports) reported += report["deaths"].size();
    EXPECT_EQ(reporter.unreported() + reported, 1000);
    EXPECT_EQ(reporter.failed(), 0);
    EXPECT_GT(reports.back()["unreported"], 100);
    EXPECT_LE(reports.back()["events"].size(), 64);
}

TEST_F(AReporter, ADeathOfAReportIsNotPrintedAgain) {
    tick(test::nearly_full());
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->targets = {empty_with({test::oom_kill_of_trainer()})};
    reporter.take(*snapshot, Seconds(time));
    EXPECT_THAT(reporter.others(snapshot)->targets[0].deaths, IsEmpty());
    EXPECT_THAT(snapshot->targets[0].deaths, SizeIs(1));
    reporter.take(Snapshot{.targets = {empty_with({})}}, Seconds(time + 1));
    EXPECT_EQ(reporter.others(snapshot), snapshot);
}

TEST_F(AReporter, ADeathWithinTwoSecondsIsAddedToTheReport) {
    tick(test::nearly_full());
    EXPECT_THAT(tick(empty_with({test::oom_kill_of_trainer()})), SizeIs(1));
    Death worker = test::oom_kill_of_trainer();
    worker.id = {110, 110000};
    worker.cause = DeathCause::signal;
    worker.oom.reset();
    worker.time += 0.3;
    EXPECT_THAT(tick(empty_with({worker})), IsEmpty());  // a line says it
    ASSERT_THAT(written(), SizeIs(1));
    EXPECT_EQ(written()[0]["deaths"].size(), 2);
    EXPECT_EQ(written()[0]["deaths"][0]["pid"], 101);
    EXPECT_FALSE(written()[0]["growth"].is_null());
    worker.time += 5;
    EXPECT_THAT(tick(empty_with({worker})), SizeIs(1));  // a new event, not another version of the first report
    EXPECT_THAT(written(), SizeIs(2));
}

TEST_F(AReporter, HandsOverEachVersionOfAReportOnce) {
    tick(test::nearly_full());
    EXPECT_THAT(reporter.take_reports(), IsEmpty());
    tick(empty_with({test::oom_kill_of_trainer()}));
    const auto first = reporter.take_reports();
    ASSERT_THAT(first, SizeIs(1));
    EXPECT_THAT(first[0]->deaths, SizeIs(1));
    EXPECT_TRUE(first[0]->growth);
    EXPECT_THAT(reporter.take_reports(), IsEmpty());
    Death worker = test::oom_kill_of_trainer();
    worker.id = {110, 110000};
    worker.cause = DeathCause::signal;
    worker.oom.reset();
    worker.time += 0.3;
    tick(empty_with({worker}));
    const auto second = reporter.take_reports();
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_THAT(second[0]->deaths, SizeIs(2));
    EXPECT_EQ(second[0]->decisive().id.pid, first[0]->decisive().id.pid);
}

TEST_F(AReporter, AWorseDeathHasItsOwnReport) {
    tick(test::nearly_full());
    Death first = test::oom_kill_of_trainer();
    first.cause = DeathCause::sigkill;
    first.oom.reset();
    first.id = {110, 110000};
    tick(empty_with({first}));
    Death worse = test::oom_kill_of_trainer();
    worse.time += 0.5;
    EXPECT_THAT(tick(empty_with({worse})), SizeIs(1));
    EXPECT_THAT(written(), SizeIs(2));
}

TEST_F(AReporter, AFailureIsCountedAndPrintedOnce) {
    fs::remove_all(directory);  // the directory is open, but nothing can be written into it any more
    tick(test::nearly_full());
    const auto first = tick(empty_with({test::oom_kill_of_trainer()}));
    EXPECT_EQ(reporter.failed(), 1);
    ASSERT_THAT(first, SizeIs(2));
    EXPECT_THAT(first[0], testing::Not(Contains(HasSubstr("memscope report"))));
    EXPECT_THAT(first[1], ElementsAre(HasSubstr("could not be written")));
    Death later = test::oom_kill_of_trainer();
    later.time += 60;
    EXPECT_THAT(tick(empty_with({later})), SizeIs(1));
    EXPECT_EQ(reporter.failed(), 2);
}

TEST(DeathReporter, WithoutADirectoryDeathsAreStillPrinted) {
    DeathReporter reporter(std::nullopt, {});
    reporter.take(Snapshot{.time = 1, .targets = {AReporter::empty_with({test::oom_kill_of_trainer()})}}, Seconds(1));
    EXPECT_THAT(reporter.finish_reports(Seconds(2)), SizeIs(1));
    EXPECT_EQ(reporter.failed(), 0);
}

TEST(RecentSnapshots, AtMost20CoverTheLast40Seconds) {
    for (const double interval : {0.05, 1.0, 7.0, 3600.0}) {
        RecentSnapshots recent;
        double now = 1000;
        for (int i = 0; i < 5000; ++i, now += interval) {
            auto snapshot = std::make_shared<Snapshot>();
            snapshot->time = now;
            recent.add(std::move(snapshot));
            ASSERT_LE(recent.all().size(), 20) << interval;
        }
        const double last = now - interval;
        EXPECT_EQ(recent.latest()->time, last);
        if (interval > 60) continue;
        EXPECT_GT(last - recent.all().front()->time, 25) << interval;
        EXPECT_NEAR(recent.all()[recent.all().size() - 2]->time, last - interval, 1e-6);
        // A process was killed `age` seconds ago, and its exit ends only now.
        for (double age = interval; age < 40; age += 1) {
            const auto& all = recent.all();
            const auto nearest = std::find_if(all.rbegin(), all.rend(), [&](auto& s) { return s->time <= last - age; });
            ASSERT_NE(nearest, all.rend()) << interval << " " << age;
            EXPECT_LE(last - age - (*nearest)->time, std::max(age / 2, 2 * interval)) << interval << " " << age;
        }
    }
}

TEST(RecentSnapshots, SnapshotsOfThousandsOfTargetsStayBelowTheByteBound) {
    RecentSnapshots recent;
    double now = 1000;
    for (int i = 0; i < 80; ++i, now += 1) {
        auto snapshot = std::make_shared<Snapshot>();
        snapshot->time = now;
        snapshot->targets.resize(3000);
        for (TargetSnapshot& target : snapshot->targets) {
            target.verdicts.resize(1);
            target.verdicts[0].explanation.resize(500);
        }
        recent.add(std::move(snapshot));
        Bytes older;
        for (std::size_t s = 0; s + 2 < recent.all().size(); ++s) older += approximate_size(*recent.all()[s]);
        ASSERT_LE(older, RecentSnapshots::kMostBytes);
    }
    const double last = now - 1;
    const auto& all = recent.all();
    EXPECT_EQ(recent.latest()->time, last);
    EXPECT_EQ(all[all.size() - 2]->time, last - 1) << "the two latest are always kept";
    EXPECT_GE(all.size(), 4U);
    EXPECT_GT(last - all.front()->time, 20) << "those that live longest are kept";
}

#ifndef MEMSCOPE_SANITIZED  // the allocators of the sanitizers do not report what is in use
TEST(RecentSnapshots, ApproximateSizeIsWithin20Percent) {
    const auto in_use = [] { return static_cast<double>(::mallinfo2().uordblks + ::mallinfo2().hblkhd); };
    const double before = in_use();
    Snapshot snapshot;
    snapshot.targets.resize(2000);
    for (TargetSnapshot& target : snapshot.targets) {
        target.processes.resize(3);
        target.memory.candidates.resize(2);
        for (int rank = 0; rank < 3; ++rank) {
            target.roles[{Role::trainer, rank}] = {};
            target.counters[{Role::trainer, rank}] = {};
        }
        target.verdicts.resize(4);
        for (ScopeVerdict& verdict : target.verdicts) verdict.explanation.resize(200);
    }
    const double size = in_use() - before;
    EXPECT_NEAR(static_cast<double>(approximate_size(snapshot).n), size, 0.2 * size);
}
#endif

}  // namespace death_reporter_test
}  // namespace memscope
