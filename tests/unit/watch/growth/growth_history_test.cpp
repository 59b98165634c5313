#include "watch/growth/growth_history.h"

#include <gmock/gmock.h>

namespace memscope {
namespace growth_history_test {

using Since = GrowthRequest::Since;
using testing::IsEmpty;

constexpr std::int64_t kMiB = 1 << 20;
constexpr RoleKey kTrainer{Role::trainer, std::nullopt};

// A new object each time, as after the end of a process with the same code.
CallSitePtr line(int number, const char* caller = "main") {
    return std::make_shared<const CallSite>(
        CallSite{.python = {{"f", "/job/train.py", number}, {caller, "/job/train.py", 1}}});
}

SitePlanes grown(std::vector<std::pair<int, std::int64_t>> lines, std::vector<UnattributedGrowth> unattributed = {}) {
    SitePlanes planes;
    SitePlane& mapped = planes.plane(PlaneKind::mapped);
    for (const auto& [number, bytes] : lines) mapped.sites.push_back({line(number), 7, kTrainer, bytes});
    mapped.unattributed = std::move(unattributed);
    return planes;
}

GrowthHistory::Moment at(double seconds, std::uint64_t held_mib = 100) {
    return {.now = Seconds{1000 + seconds}, .wall = 5e6 + seconds, .run = RunId{1}, .held = Bytes{held_mib << 20U}};
}

// Line 1 grows by 1 MiB a minute.
GrowthHistory followed(int minutes) {
    GrowthHistory history;
    for (int minute = 0; minute <= minutes; ++minute)
        if (history.is_due(at(60 * minute))) history.add(at(60 * minute), grown({{1, minute * kMiB}}));
    return history;
}

std::int64_t sum(const SitePlane& plane) {
    std::int64_t bytes = 0;
    for (const SiteGrowth& one : plane.sites) bytes += one.bytes;
    for (const UnattributedGrowth& part : plane.unattributed) bytes += part.bytes;
    return bytes;
}

std::int64_t reason(const SitePlane& plane, const std::string& word) {
    for (const UnattributedGrowth& part : plane.unattributed)
        if (part.reason == word) return part.bytes;
    return 0;
}

TEST(GrowthHistory, SubtractsTheSnapshotThatIsNearestToTheRequestedTime) {
    const GrowthHistory history = followed(14);
    SitePlanes now = grown({{1, 14 * kMiB}});
    const GrowthSpan span = history.apply({.since = Since::ago, .ago = Seconds{610}}, at(850), now);
    EXPECT_EQ(span.since, Seconds{850 - 240}) << "the age of the snapshot that was used";
    ASSERT_EQ(now.plane(PlaneKind::mapped).sites.size(), 1U);
    EXPECT_EQ(now.plane(PlaneKind::mapped).sites[0].bytes, 10 * kMiB);
}

TEST(GrowthHistory, ATimeBeforeWatchingBeganMeansTheStart) {
    const GrowthHistory history = followed(5);
    SitePlanes now = grown({{1, 5 * kMiB}});
    EXPECT_FALSE(history.apply({.since = Since::ago, .ago = Seconds{3600}}, at(310), now).since);
    EXPECT_EQ(now.plane(PlaneKind::mapped).sites[0].bytes, 5 * kMiB);
    EXPECT_FALSE(history.apply({}, at(310), now).since);
}

TEST(GrowthHistory, NoSiteIsNegativeAndTheSumIsTheChange) {
    GrowthHistory history;
    ASSERT_TRUE(history.is_due(at(0)));
    history.add(at(0), grown({{1, 10 * kMiB}, {2, 50 * kMiB}, {3, 5 * kMiB}}, {{"other", 8 * kMiB}}));
    SitePlanes now = grown({{1, 30 * kMiB}, {2, 20 * kMiB}}, {{"other", 6 * kMiB}, {"pending", kMiB}});
    EXPECT_TRUE(history.apply({.since = Since::ago, .ago = Seconds{60}}, at(61), now).since);
    const SitePlane& plane = now.plane(PlaneKind::mapped);
    ASSERT_EQ(plane.sites.size(), 1U);
    EXPECT_EQ(plane.sites[0].bytes, 20 * kMiB);
    EXPECT_EQ(reason(plane, "freed_since"), -(30 + 5 + 2) * kMiB);
    EXPECT_EQ(reason(plane, "pending"), kMiB);
    EXPECT_EQ(sum(plane), (57 - 73) * kMiB);
}

TEST(GrowthHistory, AProcessThatReplacesAnotherContinuesItsSites) {
    GrowthHistory history;
    (void)history.is_due(at(0));
    history.add(at(0), grown({{1, 200 * kMiB}}));
    SitePlanes now = grown({{1, 200 * kMiB}});  // of a worker of the next epoch
    (void)history.apply({.since = Since::ago, .ago = Seconds{60}}, at(61), now);
    EXPECT_THAT(now.plane(PlaneKind::mapped).sites, IsEmpty()) << "the line holds as much as before";
}

TEST(GrowthHistory, ThinsOutSnapshotsOlderThan15Minutes) {
    GrowthHistory history;
    double seconds = 0;
    for (; seconds <= 26 * 3600; seconds += 60) {
        if (history.is_due(at(seconds))) history.add(at(seconds), grown({{1, kMiB}}));
        ASSERT_LE(history.snapshot_count(), GrowthHistory::kMostSnapshots);
    }
    seconds -= 60;
    for (const double ago : {60., 300., 840., 1800., 3600., 7200., 6 * 3600., 20 * 3600.}) {
        SitePlanes now = grown({{1, 2 * kMiB}});
        const GrowthSpan span = history.apply({.since = Since::ago, .ago = Seconds{ago}}, at(seconds), now);
        ASSERT_TRUE(span.since) << ago;
        EXPECT_NEAR(span.since->count(), ago, ago <= 900 ? 30 : 0.45 * ago);
    }
}

TEST(GrowthHistory, HasABoundForAnyNumberOfSites) {
    GrowthHistory history;
    SitePlanes many;
    for (SitePlane& plane : many.planes)
        for (int i = 0; i < 3000; ++i) plane.sites.push_back({line(i), 7, kTrainer, (i + 1) * kMiB});
    for (int minute = 0; minute < 60; ++minute)
        if (history.is_due(at(60 * minute))) history.add(at(60 * minute), many);
    EXPECT_LE(history.bytes(), std::size_t{5} << 19U) << "2.5 MiB";
    EXPECT_LE(history.peak_names(), GrowthHistory::kMostPeakNames);
    SitePlanes now = many;
    (void)history.apply({.since = Since::ago, .ago = Seconds{60}}, at(59 * 60 + 10), now);
    for (const SitePlane& plane : now.planes) EXPECT_EQ(sum(plane), 0) << "small sites count in the sum";
}

// Stacks are merged into their line when there are too many.
TEST(GrowthHistory, ComparesAMergedLineWithItsStacks) {
    const auto plane = [](std::vector<CallSite> sites, std::int64_t bytes) {
        SitePlanes planes;
        for (CallSite& site : sites)
            planes.plane(PlaneKind::mapped)
                .sites.push_back(
                    {.site = std::make_shared<const CallSite>(std::move(site)), .role = kTrainer, .bytes = bytes});
        return planes;
    };
    const PythonFrame own{"validate", "/job/train.py", 60};
    const auto below = [&](int line) { return CallSite{.python = {{"f", "/usr/lib/python3.11/x.py", line}, own}}; };
    GrowthHistory history;
    ASSERT_TRUE(history.is_due(at(0)));
    history.add(at(0), plane({below(1), below(2)}, 10 * kMiB));
    SitePlanes now = plane({{.python = {own}}}, 25 * kMiB);
    (void)history.apply({.since = Since::ago, .ago = Seconds{60}}, at(60.5), now);
    ASSERT_EQ(now.plane(PlaneKind::mapped).sites.size(), 1U);
    EXPECT_EQ(now.plane(PlaneKind::mapped).sites[0].bytes, 5 * kMiB);
    EXPECT_EQ(sum(now.plane(PlaneKind::mapped)), 5 * kMiB);
}

TEST(GrowthHistory, KeepsTheEndOfTheWarmup) {
    GrowthHistory history;
    const auto moment = [](int minute) {
        GrowthHistory::Moment result = at(60 * minute);
        if (minute > 20) result.warmup_ended = Seconds{1000 + 60 * 12};  // found eight minutes later
        return result;
    };
    for (int minute = 0; minute <= 120; ++minute)
        if (history.is_due(moment(minute))) history.add(moment(minute), grown({{1, minute * kMiB}}));
    SitePlanes now = grown({{1, 120 * kMiB}});
    const GrowthSpan span = history.apply({.since = Since::warmup}, moment(120), now);
    EXPECT_TRUE(span.after_warmup);
    EXPECT_EQ(span.since, Seconds{60 * 108});
    EXPECT_EQ(now.plane(PlaneKind::mapped).sites[0].bytes, 108 * kMiB);
}

TEST(GrowthHistory, SinceWarmupMeansTheStartIfThereWasNoWarmup) {
    const GrowthHistory history = followed(20);
    SitePlanes now = grown({{1, 20 * kMiB}});
    const GrowthSpan span = history.apply({.since = Since::warmup}, at(1210), now);
    EXPECT_FALSE(span.since || span.after_warmup);
}

TEST(GrowthHistory, KeepsWhatWasHeldAtThePeak) {
    GrowthHistory history;
    const auto tick = [&](double seconds, std::uint64_t held, const SitePlanes& planes) {
        if (history.is_due(at(seconds, held))) history.add(at(seconds, held), planes);
    };
    tick(0, 100, grown({{1, 10 * kMiB}}));
    tick(1, 104, grown({{2, 10 * kMiB}}));  // not 5 % more
    tick(2, 110, grown({{3, 10 * kMiB}}));
    tick(3, 90, grown({{4, kMiB}}));
    SitePlanes now = grown({{4, kMiB}});
    const GrowthSpan span = history.apply({.at_peak = true}, at(4, 90), now);
    EXPECT_EQ(span.peak, 5e6 + 2);
    ASSERT_EQ(now.plane(PlaneKind::mapped).sites.size(), 1U);
    EXPECT_EQ(now.plane(PlaneKind::mapped).sites[0].site->python[0].line, 3);
    SitePlanes highest = grown({{5, kMiB}});
    EXPECT_EQ(history.apply({.at_peak = true}, at(5, 112), highest).peak, 5e6 + 5) << "now is the peak";
    EXPECT_EQ(highest.plane(PlaneKind::mapped).sites[0].site->python[0].line, 5);
    SitePlanes exited = grown({{6, kMiB}});
    EXPECT_EQ(history.apply({.at_peak = true, .kept_peak = true}, at(5, 112), exited).peak, 5e6 + 2)
        << "what is held now does not count";
    EXPECT_EQ(exited.plane(PlaneKind::mapped).sites[0].site->python[0].line, 3);
    EXPECT_FALSE(GrowthHistory().apply({.at_peak = true, .kept_peak = true}, at(5, 112), exited).peak);
}

struct AtThePeak : testing::Test {
    GrowthHistory history;
    std::vector<double> stored{};  // seconds
    void tick(double seconds, std::uint64_t held, int line) {
        if (!history.is_due(at(seconds, held))) return;
        history.add(at(seconds, held), grown({{line, 10 * kMiB}}));
        if (history.peak_time() == at(seconds).wall) stored.push_back(seconds);
    }
    int stored_line() const {
        SitePlanes now;
        (void)history.apply({.at_peak = true, .kept_peak = true}, at(1000, 1), now);
        return now.plane(PlaneKind::mapped).sites.at(0).site->python[0].line;
    }
};

TEST_F(AtThePeak, StoresAPeakThatLastsOnceMore) {
    tick(0, 100, 1);
    tick(1, 200, 2);
    for (int i = 2; i < 200; ++i) tick(i, 199, 3 + i);
    EXPECT_THAT(stored, testing::ElementsAre(0, 1, 11));
    EXPECT_EQ(stored_line(), 14) << "the call sites of the second time";
    tick(200, 209, 300);
    EXPECT_THAT(stored, testing::ElementsAre(0, 1, 11, 200)) << "higher than what was stored";
}

TEST_F(AtThePeak, DoesNotStoreAPastPeakAgain) {
    tick(0, 200, 1);
    for (int i = 1; i < 100; ++i) tick(i, 197, 2);
    EXPECT_THAT(stored, testing::ElementsAre(0));
    EXPECT_EQ(stored_line(), 1);
}

TEST_F(AtThePeak, FollowsAMaximumThatRisesSlowly) {
    for (int i = 0; i <= 40; ++i) tick(i, 1000 + static_cast<std::uint64_t>(i), i);
    EXPECT_THAT(stored, testing::ElementsAre(0, 10, 20, 30, 40));
    EXPECT_EQ(stored_line(), 40);
    for (int i = 41; i <= 200; ++i) tick(i, 1035, i);
    EXPECT_EQ(stored_line(), 40) << "it was stored after the maximum had lasted";
}

TEST_F(AtThePeak, DoesNotFollowMemoryThatFallsSlowly) {
    tick(0, 1000, 1);
    tick(10, 991, 2);  // still the peak
    for (int i = 20; i < 100; i += 10) tick(i, 982, 3);
    EXPECT_EQ(stored_line(), 2);
    SitePlanes now;
    EXPECT_EQ(history.apply({.at_peak = true}, at(100, 995), now).peak, at(10).wall) << "1000 MiB was the maximum";
}

TEST(GrowthHistory, NamesThatArriveLateAreAddedToThePeak) {
    const auto raw = [](std::uint64_t stack) {
        return RawStack{.id = StackId{stack}, .space = SpaceId{9}, .process = {7, 1}};
    };
    CallSites sites;
    SitePlanes planes = grown({{1, 5 * kMiB}}, {{"other", kMiB}, {"pending", 60 * kMiB}});
    for (const std::uint64_t stack : {1, 2, 3}) {
        sites.expect_names(raw(stack));
        const auto bytes = static_cast<std::int64_t>(10 * stack) * kMiB;
        planes.plane(PlaneKind::mapped).unnamed.push_back({{{7, 1}, StackId{stack}, bytes}, kTrainer});
    }
    GrowthHistory history;
    ASSERT_TRUE(history.is_due(at(0)));
    history.add(at(0), planes);
    const auto peak = [&] {
        history.name_peak(sites);
        SitePlanes then;
        EXPECT_EQ(history.apply({.at_peak = true}, at(1, 50), then).peak, 5e6);
        EXPECT_EQ(sum(then.plane(PlaneKind::mapped)), 66 * kMiB);
        return then.plane(PlaneKind::mapped);
    };
    EXPECT_EQ(reason(peak(), "pending"), 60 * kMiB) << "no name has arrived";

    ASSERT_TRUE(sites.learn(raw(3), {.python = {{"load", "/job/train.py", 3}}}));
    sites.lose_names(StackId{2});
    const SitePlane named = peak();
    ASSERT_EQ(named.sites.size(), 2U);
    EXPECT_EQ(named.sites[0].bytes, 30 * kMiB);
    EXPECT_EQ(named.sites[0].site->python[0].function, "load");
    EXPECT_EQ(named.sites[0].role, kTrainer);
    EXPECT_EQ(reason(named, "unknown_stack"), 20 * kMiB);
    EXPECT_EQ(reason(named, "pending"), 10 * kMiB);

    (void)sites.end(SpaceId{9});  // the process has ended
    EXPECT_EQ(reason(peak(), "unknown_stack"), 30 * kMiB);
    EXPECT_EQ(reason(peak(), "pending"), 0);
}

TEST(GrowthHistory, ANewRunOfTheJobHasNoHistory) {
    GrowthHistory history = followed(20);
    GrowthHistory::Moment next = at(1260, 10);
    next.run = RunId{2};
    SitePlanes now = grown({{1, kMiB}});
    EXPECT_FALSE(history.apply({.since = Since::ago, .ago = Seconds{60}, .at_peak = true}, next, now).since);
    EXPECT_TRUE(history.is_due(next));
    history.add(next, grown({{1, kMiB}}));
    EXPECT_EQ(history.snapshot_count(), 1U);
    EXPECT_EQ(history.peak_time(), next.wall);
}

TEST(GrowthHistory, CountsTheMinutesInWhichALineGrew) {
    GrowthHistory history;
    const PythonFrame frame{"f", "/job/train.py", 1};
    const auto trend = [&] { return history.trend(PlaneKind::mapped, line_id(frame), kTrainer); };
    for (int minute = 0; minute <= 20; ++minute) {
        (void)history.is_due(at(60 * minute));
        history.add(at(60 * minute), grown({{1, minute / 2 * kMiB}}));
        if (minute == 1) {
            EXPECT_FALSE(trend()) << "too early";
        }
    }
    ASSERT_TRUE(trend());
    EXPECT_EQ(trend()->minutes, 10);
    EXPECT_EQ(trend()->grew, 5);
    EXPECT_EQ(history.trend(PlaneKind::mapped, line_id({"f", "/job/train.py", 2}), kTrainer)->grew, 0);
}

TEST(GrowthHistories, ForgetTheOldestPeaksIfTheirNamesAreTooMany) {
    GrowthHistories all;
    for (int target = 0; target < 40; ++target) {
        SitePlanes planes;
        for (int i = 0; i < 512; ++i)
            planes.plane(PlaneKind::mapped)
                .sites.push_back({line(i, std::string(2000, 'x').c_str()), 7, kTrainer, kMiB});
        GrowthHistory& history = all.of(std::to_string(target));
        (void)history.is_due(at(target));
        history.add(at(target), planes);
        all.bound_peaks();
    }
    std::size_t names = 0;
    for (int target = 0; target < 40; ++target) names += all.find(std::to_string(target))->peak_names();
    EXPECT_LE(names, GrowthHistories::kMostPeakNames);
    EXPECT_EQ(all.find("0")->peak_names(), 0U);
    EXPECT_GT(all.find("39")->peak_names(), 0U);
    all.keep_only({"39"});
    EXPECT_EQ(all.find("38"), nullptr);
}

}  // namespace growth_history_test
}  // namespace memscope
