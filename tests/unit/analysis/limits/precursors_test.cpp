#include "analysis/limits/precursors.h"

#include <functional>
#include <gmock/gmock.h>

namespace memscope {
namespace precursors_test {

using testing::HasSubstr;

constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }
constexpr Bytes mib(std::uint64_t n) { return {n << 20U}; }

// A healthy target with all inputs.
PrecursorInputs calm() {
    PrecursorInputs inputs;
    inputs.limit = EffectiveLimit{"own", gib(64), gib(32)};
    inputs.pressure_full = 0;
    inputs.reclaim_stalled = Seconds{};
    inputs.refaulted = Bytes{};
    inputs.high_events = 0;
    inputs.usage = gib(40);
    inputs.shm = ShmUsage{mib(10), gib(1)};
    inputs.host = HostMemory{.total = gib(256), .available = gib(100)};
    return inputs;
}

EffectiveLimit held(double share) {
    const Bytes held{static_cast<std::uint64_t>(share * static_cast<double>(gib(100).n))};
    return {"own", gib(100), gib(100) - held};
}

using Basis = Forecast::Basis;

Forecast in(double seconds, Basis basis, const EffectiveLimit& limit = held(0.5)) {
    return {
        .eta = Seconds{seconds}, .basis = basis, .limit = limit, .rate = 1.2 / 3600 * static_cast<double>(gib(1).n)};
}

// One target that is checked every second.
class Watching {
  public:
    explicit Watching(const PrecursorSettings& settings = {}) : precursors_(settings) {}

    void tick(Seconds later = Seconds{1}) { active_ = precursors_.consider(now += later, inputs); }
    // Checks every second for this time. `change` is called before each check.
    void tick_for(int seconds, const std::function<void(PrecursorInputs&)>& change = {}) {
        for (int i = 0; i < seconds; ++i) {
            if (change) change(inputs);
            tick();
        }
    }
    const Precursor* found(PrecursorKind kind) const {
        for (const Precursor& each : active_)
            if (each.kind == kind) return &each;
        return nullptr;
    }
    std::string reason(PrecursorKind kind) const { return found(kind) ? found(kind)->reason : "it is not active"; }
    const std::vector<Precursor>& active() const { return active_; }

    PrecursorInputs inputs = calm();
    Seconds now{1000};

  private:
    Precursors precursors_;
    std::vector<Precursor> active_;
};

TEST(Precursors, NoneIsActiveWithoutAReason) {
    Watching w;
    w.tick_for(300);
    EXPECT_TRUE(w.active().empty());
}

TEST(Precursors, NoneIsActiveWithoutItsInput) {
    Watching w;
    w.inputs = {};
    w.tick_for(300);
    EXPECT_TRUE(w.active().empty());
}

TEST(Precursors, EtaIsActiveBelowTenMinutesOfALeak) {
    for (const Basis basis : {Basis::leak, Basis::spike}) {
        Watching w;
        w.inputs.forecasts = {in(600, basis)};
        w.tick();
        EXPECT_FALSE(w.found(PrecursorKind::eta));
        w.inputs.forecasts = {in(599, basis)};
        w.tick();
        EXPECT_THAT(w.reason(PrecursorKind::eta), HasSubstr("in 10 min"));
    }
}

TEST(Precursors, EtaOfAWarmUpOrATrendIsActiveBelowTwoMinutesAndAboveFourFifthsOfTheLimit) {
    for (const Basis basis : {Basis::warmup, Basis::trend}) {
        Watching w;
        w.inputs.limit = held(0.80);
        w.inputs.forecasts = {in(119, basis, *w.inputs.limit)};
        w.tick();
        EXPECT_FALSE(w.found(PrecursorKind::eta));
        w.inputs.limit = held(0.81);
        w.inputs.forecasts = {in(119, basis, *w.inputs.limit)};
        w.tick();
        EXPECT_THAT(w.reason(PrecursorKind::eta), HasSubstr("81 GiB of its own limit of 100 GiB (81 %)"));

        Watching later;
        later.inputs.limit = held(0.99);
        later.inputs.forecasts = {in(120, basis, *later.inputs.limit)};
        later.tick();
        EXPECT_FALSE(later.found(PrecursorKind::eta));
    }
}

TEST(Precursors, EtaOfATrendIsActiveIfTheForecastOrTheEffectiveLimitIsNearlyFull) {
    Watching w;
    w.inputs.limit = held(0.5);
    w.inputs.forecasts = {in(60, Basis::trend, {"host", gib(100), gib(15)})};
    w.tick();
    EXPECT_TRUE(w.found(PrecursorKind::eta)) << "the host is at 85 %";

    Watching tight;
    tight.inputs.limit = held(0.95);
    tight.inputs.forecasts = {in(60, Basis::warmup, {"host", gib(1000), gib(300)})};
    tight.tick();
    EXPECT_TRUE(tight.found(PrecursorKind::eta)) << "its own limit is at 95 %";
}

TEST(Precursors, AWarmUpThatIsFarFromItsLimitDoesNotHideALeakElsewhere) {
    Watching w;
    w.inputs.limit = held(0.4);
    w.inputs.forecasts = {in(100, Basis::warmup, held(0.4)), in(300, Basis::leak, {"host", gib(256), gib(20)})};
    w.tick();
    EXPECT_THAT(w.reason(PrecursorKind::eta), HasSubstr("the host's memory of 256 GiB fills up"));
    EXPECT_TRUE(w.found(PrecursorKind::eta)->of_host);
    w.inputs.limit = held(0.85);
    w.inputs.forecasts[0].limit = held(0.85);
    w.tick();
    EXPECT_THAT(w.reason(PrecursorKind::eta), HasSubstr("still warming up")) << "the warm-up is the earlier forecast";
    EXPECT_FALSE(w.found(PrecursorKind::eta)->of_host);
}

TEST(Precursors, ReasonsAboutALimitMentionFreeMemoryAndDoNotSpeakOfALeak) {
    const std::string free = "41 GiB of 62 GiB are free inside malloc. This is not a leak of your objects";
    Watching w;
    w.inputs.verdict = Verdict::leaking;
    w.inputs.limit = held(0.95);
    w.inputs.forecasts = {in(480, Basis::leak, held(0.95))};
    w.inputs.pressure_full = 0.5;
    w.inputs.free_memory = free;
    w.tick_for(31);
    EXPECT_EQ(w.reason(PrecursorKind::eta),
              "it grows, and at this rate its own limit of 100 GiB is full in 8 min: save a checkpoint now; " + free);
    EXPECT_THAT(w.reason(PrecursorKind::near_limit), testing::EndsWith("the kernel kills a process; " + free));
    EXPECT_THAT(w.reason(PrecursorKind::pressure), testing::Not(HasSubstr("free")));

    w.inputs.forecasts[0].limit = EffectiveLimit{"host", gib(64), gib(1)};
    w.inputs.forecasts[0].own_share = 0.1;
    w.tick();
    EXPECT_THAT(w.reason(PrecursorKind::eta), HasSubstr("mostly because of other jobs (this job grows, too)"));
}

TEST(Precursors, AHeldReasonKeepsItsText) {
    Watching w;
    w.inputs.verdict = Verdict::leaking;
    w.inputs.forecasts = {in(480, Basis::leak)};
    w.tick();
    w.inputs.forecasts.clear();
    w.inputs.free_memory = "41 GiB of 62 GiB are free inside malloc. This is not a leak of your objects";
    w.tick();
    EXPECT_EQ(w.reason(PrecursorKind::eta),
              "it leaks, and at this rate its own limit of 100 GiB is full in 8 min: save a checkpoint now");
}

TEST(Precursors, EtaNamesTheSourceOfTheGrowth) {
    const EffectiveLimit own{"own", gib(16), gib(2)};
    const EffectiveLimit host{"host", gib(64), gib(1)};
    const EffectiveLimit jobs{"jobs", gib(64), gib(1)};
    const auto reason = [](Forecast forecast, double own_share = 1, Verdict verdict = Verdict::stable) {
        Watching w;
        forecast.own_share = own_share;
        w.inputs.forecasts = {forecast};
        w.inputs.verdict = verdict;
        w.tick();
        return w.reason(PrecursorKind::eta);
    };
    EXPECT_EQ(reason(in(480, Basis::leak, own), 1, Verdict::leaking),
              "it leaks, and at this rate its own limit of 16 GiB is full in 8 min: save a checkpoint now");
    EXPECT_EQ(reason(in(480, Basis::leak, host), 0.1),
              "the host's memory of 64 GiB fills up at 1.2 GiB/h, mostly because of other jobs (this job is stable), "
              "and is full in 8 min: save a checkpoint now");
    EXPECT_EQ(reason(in(480, Basis::leak, jobs), 0.1, Verdict::leaking),
              "the limit of jobs (64 GiB) fills up at 1.2 GiB/h, mostly because of other jobs (this job leaks, too), "
              "and is full in 8 min: save a checkpoint now");
    EXPECT_EQ(
        reason(in(480, Basis::leak, host), 0.9, Verdict::leaking),
        "the host's memory of 64 GiB fills up at 1.2 GiB/h, mostly because of this job, and is full in 8 min: save a "
        "checkpoint now");
    EXPECT_EQ(reason(in(5, Basis::spike, own)), "the next spike would cross its own limit of 16 GiB in 5 s");
    EXPECT_EQ(reason(in(0, Basis::spike, host), 0),
              "the next spike in the memory of all jobs would cross the host's memory of 64 GiB now");
    EXPECT_EQ(reason(in(60, Basis::warmup, own), 1, Verdict::warming_up),
              "it is still warming up and holds 14 GiB of its own limit of 16 GiB (87 %): at this rate memory runs out "
              "in 60 s");
    EXPECT_EQ(reason(in(60, Basis::trend, own), 1, Verdict::insufficient),
              "14 GiB of its own limit of 16 GiB (87 %) are in use and lately rose by 1.2 GiB/h: at this rate memory "
              "runs out in 60 s, save a checkpoint now");
    EXPECT_EQ(reason(in(60, Basis::trend, host), 0.2, Verdict::insufficient),
              "63 GiB of the host's memory of 64 GiB (98 %) are in use and lately rose by 1.2 GiB/h, mostly because of "
              "other jobs (this job is not judged yet): at this rate memory runs out in 60 s, save a checkpoint now");
}

TEST(Precursors, NearLimitIsActiveAfterThirtySecondsOfNinetyPercent) {
    Watching w;
    w.inputs.limit = held(0.9);
    w.tick_for(30);  // the condition begins with the first check, so it holds for 29 s
    EXPECT_FALSE(w.found(PrecursorKind::near_limit));
    w.tick();
    ASSERT_TRUE(w.found(PrecursorKind::near_limit));
    EXPECT_EQ(w.found(PrecursorKind::near_limit)->since, w.now.count());
    EXPECT_EQ(
        w.reason(PrecursorKind::near_limit),
        "90 GiB of its own limit of 100 GiB cannot be reclaimed (90 %): after 10 GiB more the kernel kills a process");
}

TEST(Precursors, NearLimitStartsAgainAfterABreak) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.tick_for(29);
    w.inputs.limit = held(0.8999);
    w.tick();
    w.inputs.limit = held(0.95);
    w.tick_for(30);
    EXPECT_FALSE(w.found(PrecursorKind::near_limit));
    w.tick();
    EXPECT_TRUE(w.found(PrecursorKind::near_limit));
}

TEST(Precursors, NearLimitCountsSiblingsBelowTheLimitOfAnAncestor) {
    Watching w;
    w.inputs.limit = EffectiveLimit{"jobs\n/user", gib(100), gib(5)};
    w.tick_for(31);
    EXPECT_EQ(
        w.reason(PrecursorKind::near_limit),
        "95 GiB of the limit of jobs\\n/user (100 GiB) cannot be reclaimed (95 %): after 5.0 GiB more the kernel kills "
        "a process");
}

TEST(Precursors, MarksThoseOfTheHostLimit) {
    Watching w;
    w.inputs.limit = EffectiveLimit{"host", gib(100), gib(5)};
    w.inputs.forecasts = {in(60, Basis::leak, *w.inputs.limit)};
    w.inputs.pressure_full = 0.5;
    w.inputs.host = HostMemory{.total = gib(256), .available = gib(1)};
    w.tick_for(31);
    for (const PrecursorKind kind : {PrecursorKind::eta, PrecursorKind::near_limit, PrecursorKind::host_low}) {
        ASSERT_TRUE(w.found(kind)) << name_of(kind);
        EXPECT_TRUE(w.found(kind)->of_host) << name_of(kind);
    }
    ASSERT_TRUE(w.found(PrecursorKind::pressure));
    EXPECT_FALSE(w.found(PrecursorKind::pressure)->of_host);
    for (const auto* owner : {"own", "jobs/user"}) {
        w.inputs.limit->owner = owner;
        w.inputs.forecasts[0].limit = w.inputs.limit;
        w.tick();
        EXPECT_FALSE(w.found(PrecursorKind::eta)->of_host) << owner;
        EXPECT_FALSE(w.found(PrecursorKind::near_limit)->of_host) << owner;
    }
}

TEST(Precursors, EtaAndNearLimitMayBeOfDifferentLimits) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.inputs.forecasts = {in(60, Basis::leak, {"host", gib(256), gib(20)})};
    w.tick_for(31);
    ASSERT_TRUE(w.found(PrecursorKind::eta));
    EXPECT_TRUE(w.found(PrecursorKind::eta)->of_host);
    ASSERT_TRUE(w.found(PrecursorKind::near_limit));
    EXPECT_FALSE(w.found(PrecursorKind::near_limit)->of_host);
}

TEST(Precursors, KeepsTheOwnerOfItsReasonWhileItIsActive) {
    Watching killed;
    killed.inputs.limit = held(0.95);
    killed.tick_for(31);
    killed.inputs.limit = EffectiveLimit{"host", gib(256), gib(100)};  // the nearest limit after its memory is freed
    killed.tick_for(30);
    ASSERT_TRUE(killed.found(PrecursorKind::near_limit));
    EXPECT_FALSE(killed.found(PrecursorKind::near_limit)->of_host);

    Watching relieved;
    relieved.inputs.limit = EffectiveLimit{"host", gib(100), gib(5)};
    relieved.tick_for(31);
    relieved.inputs.limit = held(0.5);
    relieved.tick_for(30);
    ASSERT_TRUE(relieved.found(PrecursorKind::near_limit));
    EXPECT_TRUE(relieved.found(PrecursorKind::near_limit)->of_host);
}

TEST(Precursors, NearLimitCountsTimeBetweenDistantTicks) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.tick();
    w.tick(Seconds{600});
    EXPECT_TRUE(w.found(PrecursorKind::near_limit));
}

TEST(Precursors, PressureIsActiveFromTenPercentOnAtOnce) {
    Watching w;
    w.inputs.pressure_full = 0.0999;
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::pressure));
    w.inputs.pressure_full = 0.1;
    w.tick();
    EXPECT_EQ(w.reason(PrecursorKind::pressure), "all its threads waited for memory during 10 % of the last 10 s");
}

TEST(Precursors, ReclaimIsActiveWhenThreeSecondsOfTheLastMinuteWereLost) {
    Watching w;
    w.tick();
    const auto stall = [](PrecursorInputs& inputs) { *inputs.reclaim_stalled += Seconds{0.045}; };
    w.tick_for(200, stall);  // the threads stall for 2.7 s in each minute
    EXPECT_FALSE(w.found(PrecursorKind::reclaim));
    w.tick_for(60, [](PrecursorInputs& inputs) { *inputs.reclaim_stalled += Seconds{0.0501}; });
    EXPECT_EQ(w.reason(PrecursorKind::reclaim),
              "its threads lost 3.0 s of the last 60 s (5.0 %) because they had to free memory before they got any");
}

TEST(Precursors, ReclaimNeedsNoWholeMinuteToHaveLostThreeSeconds) {
    Watching w;
    w.tick();
    w.inputs.reclaim_stalled = Seconds{4};
    w.tick();
    EXPECT_TRUE(w.found(PrecursorKind::reclaim));
}

TEST(Precursors, ReclaimIgnoresStallsBeforeWatchingBegan) {
    Watching w;
    w.inputs.reclaim_stalled = Seconds{5000};
    w.tick_for(100);
    EXPECT_FALSE(w.found(PrecursorKind::reclaim));
}

TEST(Precursors, RefaultIsActiveAfterAMinuteOfMoreThanOnePercentASecond) {
    Watching w;
    w.tick();
    const auto refault = [](std::uint64_t per_second) {
        return [=](PrecursorInputs& inputs) { *inputs.refaulted += Bytes{per_second}; };
    };
    w.tick_for(200, refault(gib(40).n / 100));  // exactly 1 % is not above the threshold
    EXPECT_FALSE(w.found(PrecursorKind::refault));
    w.tick_for(55, refault(mib(512).n));
    EXPECT_FALSE(w.found(PrecursorKind::refault));
    w.tick_for(20, refault(mib(512).n));
    EXPECT_EQ(w.reason(PrecursorKind::refault),
              "it reads back 512 MiB of just evicted memory every second, 1.2 % of the 40 GiB it has: its working set "
              "does not fit");
}

TEST(Precursors, RefaultAcceptsACounterThatPausesForSomeSeconds) {
    Watching w;
    int tick = 0;
    w.tick_for(80, [&](PrecursorInputs& inputs) {
        if (++tick % 3 == 0) *inputs.refaulted += gib(3);
    });
    EXPECT_TRUE(w.found(PrecursorKind::refault));
}

TEST(Precursors, OneBurstOfRefaultsDoesNotActivateRefault) {
    Watching w;
    w.tick_for(30);
    *w.inputs.refaulted += gib(200);
    w.tick_for(120);
    EXPECT_FALSE(w.found(PrecursorKind::refault));
}

TEST(Precursors, HighThrottledIsActiveAfterThirtySecondsOfRising) {
    Watching w;
    w.tick_for(10);
    const auto rise = [](PrecursorInputs& inputs) { *inputs.high_events += 7; };
    w.tick_for(29, rise);
    EXPECT_FALSE(w.found(PrecursorKind::high_throttled));
    w.tick_for(3, rise);
    EXPECT_EQ(w.reason(PrecursorKind::high_throttled),
              "it went over memory.high 35 times in the last 5 s, and the kernel slows it down each time");
}

TEST(Precursors, HighThrottledIgnoresOldAndRareEvents) {
    Watching w;
    w.inputs.high_events = 100'000;
    int tick = 0;
    w.tick_for(300, [&](PrecursorInputs& inputs) { *inputs.high_events += ++tick % 20 == 0 ? 1 : 0; });
    EXPECT_FALSE(w.found(PrecursorKind::high_throttled));
}

TEST(Precursors, ShmFullIsActiveFromNinetyPercentOn) {
    Watching w;
    w.inputs.shm = ShmUsage{mib(899), mib(1000)};
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::shm_full));
    w.inputs.shm = ShmUsage{mib(900), mib(1000)};
    w.tick();
    EXPECT_EQ(
        w.reason(PrecursorKind::shm_full),
        "/dev/shm holds 900 MiB of 1000 MiB (90 %): when it is full, a process that writes to it is killed by SIGBUS");
}

TEST(Precursors, HostLowIsActiveBelowTheLargerOfTwoPercentAndOneGibibyte) {
    Watching large;
    large.inputs.host = HostMemory{.total = gib(500), .available = gib(10)};
    large.tick();
    EXPECT_FALSE(large.found(PrecursorKind::host_low));
    large.inputs.host->available = gib(10) - Bytes{1};
    large.tick();
    EXPECT_TRUE(large.found(PrecursorKind::host_low));

    Watching small;
    small.inputs.host = HostMemory{.total = gib(16), .available = gib(1)};
    small.tick();
    EXPECT_FALSE(small.found(PrecursorKind::host_low));
    small.inputs.host->available = mib(1000);
    small.tick();
    EXPECT_EQ(small.reason(PrecursorKind::host_low),
              "the host has 1000 MiB of its 16 GiB available, less than 1.0 GiB: the kernel may kill any process");
}

TEST(Precursors, ClearsAMinuteAfterItsReasonEndsAndKeepsTheReasonUntilThen) {
    Watching w;
    w.inputs.shm = ShmUsage{mib(950), mib(1000)};
    w.tick();
    const double since = w.now.count();
    const std::string reason = w.reason(PrecursorKind::shm_full);
    w.inputs.shm = ShmUsage{mib(10), mib(1000)};
    w.tick_for(59);
    ASSERT_TRUE(w.found(PrecursorKind::shm_full));
    EXPECT_EQ(w.found(PrecursorKind::shm_full)->since, since);
    EXPECT_EQ(w.reason(PrecursorKind::shm_full), reason);
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::shm_full));
}

TEST(Precursors, KeepsItsStartIfItsReasonReturnsWithinAMinute) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.tick_for(31);
    const double since = w.found(PrecursorKind::near_limit)->since;
    for (int i = 0; i < 5; ++i) {
        w.inputs.limit = held(0.5);
        w.tick_for(50);
        w.inputs.limit = held(0.91);
        w.tick();
    }
    ASSERT_TRUE(w.found(PrecursorKind::near_limit));
    EXPECT_EQ(w.found(PrecursorKind::near_limit)->since, since);
}

TEST(Precursors, MemoryPrecursorsOfAnEndedJobClearWithoutDelay) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.inputs.forecasts = {in(60, Basis::leak, held(0.95))};
    w.inputs.pressure_full = 0.5;
    w.inputs.shm = ShmUsage{mib(950), mib(1000)};
    w.tick_for(40);
    ASSERT_EQ(w.active().size(), 4U);
    w.inputs.job_ended = w.now + Seconds{1};
    w.inputs.forecasts.clear();
    w.tick();  // the memory of the dead processes is freed only after a while
    EXPECT_FALSE(w.found(PrecursorKind::eta));
    EXPECT_TRUE(w.found(PrecursorKind::near_limit));
    w.inputs.limit = held(0.01);
    w.inputs.pressure_full = 0;
    w.inputs.shm = ShmUsage{mib(10), mib(1000)};
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::near_limit));
    EXPECT_FALSE(w.found(PrecursorKind::pressure));
    EXPECT_TRUE(w.found(PrecursorKind::shm_full)) << "files in /dev/shm remain after a process exits";
}

TEST(Precursors, EtaThatBeginsAfterTheEndOfAJobIsHeldForAMinute) {
    Watching w;
    w.tick();
    w.inputs.job_ended = w.now;
    w.tick();
    w.inputs.forecasts = {in(60, Basis::leak, held(0.95))};
    w.tick();
    w.inputs.forecasts.clear();
    w.tick_for(59);
    EXPECT_TRUE(w.found(PrecursorKind::eta));
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::eta));
}

TEST(Precursors, NearLimitStartsAgainWhenTheJobEnds) {
    Watching w;
    w.inputs.limit = held(0.95);
    w.tick_for(25);
    w.inputs.job_ended = w.now + Seconds{1};
    w.tick_for(10);  // its memory is freed slowly
    EXPECT_FALSE(w.found(PrecursorKind::near_limit));
}

TEST(Precursors, AMissingInputClearsAfterAMinute) {
    Watching w;
    w.inputs.pressure_full = 0.5;
    w.tick();
    w.inputs.pressure_full.reset();
    w.tick_for(59);
    EXPECT_TRUE(w.found(PrecursorKind::pressure));
    w.tick();
    EXPECT_FALSE(w.found(PrecursorKind::pressure));
}

TEST(Precursors, UsesTheThresholdsOfTheSettings) {
    PrecursorSettings settings;
    settings.near_limit = 0.5;
    settings.near_limit_for = Seconds{2};
    settings.reclaim = 0.5;
    settings.reclaim_window = Seconds{4};
    settings.clear_after = Seconds{3};
    Watching w(settings);
    w.inputs.limit = held(0.5);
    w.tick_for(3);
    EXPECT_TRUE(w.found(PrecursorKind::near_limit));
    w.inputs.limit = held(0.1);
    w.inputs.reclaim_stalled = Seconds{2};
    w.tick_for(3);
    EXPECT_FALSE(w.found(PrecursorKind::near_limit));
    EXPECT_TRUE(w.found(PrecursorKind::reclaim));
}

}  // namespace precursors_test
}  // namespace memscope
