#include "analysis/verdict/forecast.h"

#include <cmath>
#include <gmock/gmock.h>

#include "analysis/verdict/verdict_sentence.h"
#include "curves.h"

namespace memscope {
namespace forecast_test {

using testing::HasSubstr;

Bytes gib(double n) { return {static_cast<std::uint64_t>(n * kGiB)}; }

TEST(Forecast, ALeakReachesTheLimitAtItsRate) {
    const Judgement leak = judge(drawn(3600, 1, [](double t) { return kGiB * (4 + t / 3600); }));
    const auto expected = forecast(leak, gib(8));
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->basis, Forecast::Basis::leak);
    EXPECT_NEAR(expected->eta.count(), 3 * 3600, 300);
    EXPECT_LT(expected->earliest, expected->eta);
    ASSERT_TRUE(expected->latest);
    EXPECT_GT(*expected->latest, expected->eta);
}

TEST(Forecast, CountsASpikeOnTopOfALeak) {
    const Judgement leak =
        judge(drawn(3600, 5, [](double t) { return kGiB * (6 + t / 3600 + (std::fmod(t, 300) < 10 ? 4 : 0)); }));
    const auto expected = forecast(leak, gib(16));
    ASSERT_TRUE(expected);
    EXPECT_NEAR(expected->eta.count(), 5 * 3600, 600);
}

TEST(Forecast, ALeakInStepsReachesTheLimitWithAStep) {
    const Judgement leak = judge(drawn(5400, 1, [](double t) { return kGiB * (2 + std::floor(t / 600) / 4); }));
    ASSERT_EQ(leak.verdict, Verdict::leaking);
    const auto expected = forecast(leak, gib(4.6));
    ASSERT_TRUE(expected);
    EXPECT_NEAR(expected->eta.count(), 2 * 600, 90);
}

TEST(Forecast, AWarmUpHasNoLatestTime) {
    const Judgement warming = judge(drawn(900, 1, [](double t) { return kGiB * (2 + t / 100); }));
    const auto expected = forecast(warming, gib(20));
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->basis, Forecast::Basis::warmup);
    EXPECT_NEAR(expected->eta.count(), 900, 60);
    EXPECT_FALSE(expected->latest);
}

TEST(Forecast, AFlatSeriesHasNoForecast) {
    EXPECT_FALSE(forecast(judge(drawn(3600, 5, [](double) { return 6 * kGiB; })), gib(7)));
    EXPECT_FALSE(forecast(Judgement{}, gib(7)));
}

TEST(Forecast, SpikesHaveAForecastIfTheNextOneReachesTheLimit) {
    const Judgement spiky =
        judge(drawn(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 10 ? 4 : 0)); }));
    EXPECT_FALSE(forecast(spiky, gib(11)));
    const auto expected = forecast(spiky, gib(9.5));
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->basis, Forecast::Basis::spike);
    EXPECT_LE(expected->eta, Seconds(300));
}

Judgement leak_of_a_gibibyte_an_hour() {
    return judge(drawn(3600, 1, [](double t) { return kGiB * (4 + t / 3600); }));
}

TEST(ForecastAt, TheEtaDecreasesWithTime) {
    const Judgement leak = leak_of_a_gibibyte_an_hour();
    const double eta = forecast(leak, gib(8))->eta.count();
    for (const double later : {0.0, 10.0, 60.0, 360.0}) {
        const auto aged = forecast_at(leak, gib(8), Seconds(3600 + later), gib(5 + later / 3600));
        ASSERT_TRUE(aged);
        EXPECT_NEAR(aged->eta.count(), eta - later, 2) << later;
        EXPECT_LE(aged->earliest, aged->eta);
        EXPECT_GE(*aged->latest, aged->eta);
    }
}

TEST(ForecastAt, TheEtaIsAtMostHeadroomDividedByRate) {
    const Judgement leak = leak_of_a_gibibyte_an_hour();
    const auto aged = forecast_at(leak, gib(8), Seconds(3605), gib(7.75));
    ASSERT_TRUE(aged);
    EXPECT_NEAR(aged->eta.count(), 900, 20);
    EXPECT_LE(aged->earliest, aged->eta);
}

TEST(ForecastAt, ItIsNeverBelowZero) {
    const Judgement leak = leak_of_a_gibibyte_an_hour();
    const auto aged = forecast_at(leak, gib(8), Seconds(3600 + 5 * 3600), gib(8.5));
    ASSERT_TRUE(aged);
    EXPECT_EQ(aged->eta, Seconds(0));
    EXPECT_EQ(aged->earliest, Seconds(0));
}

TEST(ForecastAt, TheEtaStaysWhileMemoryDoesNotGrow) {
    const Judgement leak = leak_of_a_gibibyte_an_hour();
    const auto aged = forecast_at(leak, gib(8), Seconds(3600 + 360), gib(5));
    ASSERT_TRUE(aged);
    EXPECT_NEAR(aged->eta.count(), 3 * 3600, 60);
}

TEST(ForecastAt, FreedMemoryExtendsTheEta) {
    const Judgement leak = leak_of_a_gibibyte_an_hour();
    const auto aged = forecast_at(leak, gib(8), Seconds(3610), gib(2));
    ASSERT_TRUE(aged);
    EXPECT_NEAR(aged->eta.count(), 6 * 3600, 60);
}

TEST(ForecastAt, TheEtaOfAWarmUpDecreasesWithTime) {
    const Judgement warming = judge(drawn(900, 1, [](double t) { return kGiB * (2 + t / 100); }));
    const auto aged = forecast_at(warming, gib(20), Seconds(1000), gib(12));
    ASSERT_TRUE(aged);
    EXPECT_EQ(aged->basis, Forecast::Basis::warmup);
    EXPECT_NEAR(aged->eta.count(), 800, 20);
    EXPECT_FALSE(aged->latest);
}

TEST(ForecastAt, TheEtaOfStepsAndSpikesDependsOnTimeOnly) {
    const Judgement steps = judge(drawn(5400, 1, [](double t) { return kGiB * (2 + std::floor(t / 600) / 4); }));
    ASSERT_TRUE(steps.steps);
    const double step_eta = forecast(steps, gib(4.6))->eta.count();
    for (const double held : {4.25, 4.55})
        EXPECT_NEAR(forecast_at(steps, gib(4.6), Seconds(5500), gib(held))->eta.count(), step_eta - 100, 1) << held;

    const Judgement spiky =
        judge(drawn(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 10 ? 4 : 0)); }));
    const double spike_eta = forecast(spiky, gib(9.5))->eta.count();
    EXPECT_NEAR(forecast_at(spiky, gib(9.5), Seconds(3640), gib(6))->eta.count(), spike_eta - 40, 1);
}

TEST(ForecastAt, AfterAMissedSpikeTheNextOneIsExpected) {
    const Judgement spiky =
        judge(drawn(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 10 ? 4 : 0)); }));
    const double due = forecast(spiky, gib(9.5))->eta.count();
    EXPECT_EQ(forecast_at(spiky, gib(9.5), Seconds(3600 + due + 20), gib(6))->eta, Seconds(0)) << "it may be late";
    EXPECT_NEAR(forecast_at(spiky, gib(9.5), Seconds(3600 + due + 100), gib(6))->eta.count(), 200, 10);
}

TEST(ForecastAt, ATinyRateHasNoForecast) {
    Judgement warming = judge(drawn(900, 1, [](double t) { return kGiB * (2 + t / 100); }));
    warming.floor_slope = 1;
    EXPECT_FALSE(forecast_at(warming, gib(20), Seconds(900), gib(11)));
}

TEST(ForecastAt, TheRateIsThatOfTheJudgement) {
    EXPECT_NEAR(forecast_at(leak_of_a_gibibyte_an_hour(), gib(8), Seconds(3600), gib(5))->rate, kGiB / 3600, 1000);
}

TEST(Explain, CallsAFallARestartUnlessTheProcessTreeShowsNone) {
    const auto series = drawn(3600, 5, [](double t) { return t < 1200 ? 8 * kGiB : 2 * kGiB; });
    EXPECT_THAT(verdict_sentence(judge(series), series.began(), gib(64)),
                HasSubstr("Since the restart at 20 min, the floor"));
    const Judgement known = judge(series, {.evidence = {.restarts = std::vector<Seconds>{}}});
    EXPECT_THAT(verdict_sentence(known, series.began(), gib(64)), HasSubstr("Since memory fell at 20 min, the floor"));
}

TEST(Explain, EachVerdictHasASentenceWithFigures) {
    const auto said = [](const Series& series) { return verdict_sentence(judge(series), series.began(), gib(64)); };
    EXPECT_THAT(said(drawn(10, 5, [](double) { return kGiB; })), HasSubstr("too few samples"));
    EXPECT_THAT(said(drawn(3600, 5, [](double) { return 6 * kGiB; })), HasSubstr("flat at 6.0 GiB for 60 min"));
    EXPECT_THAT(said(drawn(3600, 5, [](double t) { return kGiB * (4 + t / 3600); })), HasSubstr("1.0 GiB/h"));
    EXPECT_THAT(said(drawn(900, 1, [](double t) { return kGiB * (2 + t / 100); })), HasSubstr("--warmup"));
    const auto steps = said(drawn(7200, 5, [](double t) { return kGiB * (2 + std::floor(t / 600) / 4); }));
    EXPECT_THAT(steps, HasSubstr("steps of about 256 MiB"));
    EXPECT_THAT(steps, HasSubstr("64 GiB is reached in"));
    const auto spikes = said(drawn(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 10 ? 4 : 0)); }));
    EXPECT_THAT(spikes, HasSubstr("spikes of 4.0 GiB about every 5 min"));
    for (const std::string& text : {steps, spikes}) EXPECT_TRUE(text.ends_with('.') && text[0] == 'T') << text;
}

}  // namespace forecast_test
}  // namespace memscope
