#include <gmock/gmock.h>

#include "analysis/targets/scope_sentence.h"
#include "analysis/targets/target_judge.h"

namespace memscope {
namespace gpu_judge_test {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr Seconds kWall{1.7e9};

struct WatchedGpu {
    TargetJudge judge{std::chrono::minutes(20)};
    std::vector<GpuDevice> devices{};
    Bytes kept_by_driver{};
    double now = 1000;
    TargetSnapshot latest{};

    // `use`: the memory that the trainer holds on GPU-00, by the time since the start in seconds. `others`: what other
    // processes hold there.
    template <class Use>
    void run(double seconds, std::uint64_t others, Use use) {
        for (double t = 0; t < seconds; t += 5, now += 5) {
            latest = {};
            const GpuUse held = use(t);
            latest.gpu.emplace().processes[12].devices["GPU-00"] = held;
            devices = {GpuDevice{.id = "GPU-00", .index = 3, .name = "H200"}};
            devices[0].total = Bytes{80 * kGiB};
            devices[0].used = held.used.value_or(held.reserved_total()) + Bytes{others};
            devices[0].free = *devices[0].total - *devices[0].used - kept_by_driver;
            judge.consider(Seconds(now), kWall + Seconds(now), latest, devices);
        }
    }
    const ScopeVerdict* of(VerdictScope scope) const {
        const auto found = std::ranges::find(latest.verdicts, scope, &ScopeVerdict::scope);
        return found == latest.verdicts.end() ? nullptr : &*found;
    }
};

GpuUse used(std::uint64_t bytes) {
    GpuUse use;
    use.used = Bytes{bytes};
    return use;
}

GpuUse reserved(std::uint64_t bytes) {
    GpuUse use;
    use.reserved[0] = Bytes{bytes};
    return use;
}

std::uint64_t rising(double t) { return 10 * kGiB + static_cast<std::uint64_t>(t) * 4 * kMiB; }

TEST(GpuJudge, AGpuThatFillsUpIsALeakAndItsLimitExcludesMemoryOfOthers) {
    WatchedGpu watched;
    watched.run(3600, 20 * kGiB, [](double t) { return used(rising(t)); });
    const ScopeVerdict* gpu = watched.of(VerdictScope::gpu);
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->gpu, "GPU-00");
    EXPECT_FALSE(gpu->role);
    EXPECT_EQ(gpu->judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(gpu->forecast);
    const double left = static_cast<double>(60 * kGiB - rising(3595)) / (4.0 * kMiB);
    EXPECT_NEAR(gpu->forecast->eta.count(), left, 0.05 * left);
    EXPECT_THAT(gpu->explanation, StartsWith("GPU 3 (H200): The floor has risen steadily"));
    EXPECT_THAT(gpu->explanation, HasSubstr("the limit of 60 GiB is reached in"));
    EXPECT_THAT(gpu->explanation, HasSubstr("Other processes hold 20 GiB of its 80 GiB, contexts included."));
    EXPECT_NEAR(gpu->began.count(), kWall.count() + 1000, 1);
    EXPECT_TRUE(adds_to(watched.latest, *gpu));
    EXPECT_EQ(watched.latest.verdict()->scope, VerdictScope::target) << "the verdict of the target stays the first";
}

TEST(GpuJudge, TheTimeUntilItIsFullPassesBetweenTwoJudgements) {
    WatchedGpu watched;
    watched.run(3600, 20 * kGiB, [](double t) { return used(rising(t)); });
    std::vector<double> etas;
    for (double t = 3600; t < 3720; t += 5) {
        watched.run(5, 20 * kGiB, [&](double) { return used(rising(t)); });
        ASSERT_TRUE(watched.of(VerdictScope::gpu)->forecast);
        etas.push_back(watched.of(VerdictScope::gpu)->forecast->eta.count());
    }
    for (std::size_t i = 1; i < etas.size(); ++i) EXPECT_NEAR(etas[i], etas[i - 1] - 5, 20) << i;
    EXPECT_NEAR(etas.back(), etas.front() - 5 * static_cast<double>(etas.size() - 1), 20);
}

TEST(GpuJudge, AFlatGpuIsStableAndNotShown) {
    WatchedGpu watched;
    watched.run(3600, 0, [](double) { return used(10 * kGiB); });
    const ScopeVerdict* gpu = watched.of(VerdictScope::gpu);
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->judgement.verdict, Verdict::stable);
    EXPECT_FALSE(gpu->forecast);
    EXPECT_FALSE(adds_to(watched.latest, *gpu));
}

TEST(GpuJudge, WithoutNvmlJudgesReservedMemoryOfCudaCalls) {
    WatchedGpu watched;
    watched.run(3600, 0, [](double t) { return reserved(rising(t)); });
    ASSERT_NE(watched.of(VerdictScope::gpu), nullptr);
    EXPECT_EQ(watched.of(VerdictScope::gpu)->judgement.verdict, Verdict::leaking);
}

TEST(GpuJudge, TicksWithAnotherSourceAddNoSample) {
    WatchedGpu watched;
    watched.run(1800, 0, [](double) { return used(10 * kGiB); });
    const auto samples = watched.of(VerdictScope::gpu)->judgement.samples;
    watched.run(60, 0, [](double) { return reserved(2 * kGiB); });
    EXPECT_EQ(watched.of(VerdictScope::gpu), nullptr) << "the series has no sample at this tick";
    watched.run(1800, 0, [](double) { return used(10 * kGiB); });
    EXPECT_EQ(watched.of(VerdictScope::gpu)->judgement.verdict, Verdict::stable);
    EXPECT_GT(watched.of(VerdictScope::gpu)->judgement.samples, samples);
    EXPECT_EQ(watched.of(VerdictScope::gpu)->judgement.floor, Bytes{10 * kGiB});
}

TEST(GpuJudge, TheLimitExcludesMemoryReservedByTheDriver) {
    WatchedGpu watched;
    watched.kept_by_driver = Bytes{5 * kGiB};
    watched.run(3600, 20 * kGiB, [](double t) { return used(rising(t)); });
    const ScopeVerdict* gpu = watched.of(VerdictScope::gpu);
    ASSERT_TRUE(gpu && gpu->forecast);
    EXPECT_THAT(gpu->explanation, HasSubstr("the limit of 55 GiB is reached in"));
}

TEST(GpuJudge, UsesNvmlEvenIfItsFirstAnswerIsLate) {
    WatchedGpu watched;
    watched.run(10, 0, [](double) { return reserved(2 * kGiB); });
    watched.run(3600, 0, [](double) {
        GpuUse both = reserved(2 * kGiB);
        both.used = Bytes{10 * kGiB};
        return both;
    });
    const ScopeVerdict* gpu = watched.of(VerdictScope::gpu);
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->judgement.floor, Bytes{10 * kGiB});
    EXPECT_EQ(gpu->judgement.verdict, Verdict::stable) << "the change of the source is not growth";
    EXPECT_NEAR(gpu->began.count(), kWall.count() + 1010, 1);
}

TEST(GpuJudge, AProcessThatNvmlDoesNotListYetDoesNotInterruptTheSeries) {
    WatchedGpu watched;
    watched.run(3600, 0, [](double) { return used(10 * kGiB); });
    watched.latest = {};
    watched.latest.gpu.emplace().processes[12].devices["GPU-00"] = used(10 * kGiB);
    watched.latest.gpu->processes[13].devices["GPU-00"] = reserved(kMiB);
    watched.judge.consider(Seconds(watched.now), kWall + Seconds(watched.now), watched.latest, watched.devices);
    const ScopeVerdict* gpu = watched.of(VerdictScope::gpu);
    ASSERT_NE(gpu, nullptr) << "it has a sample at this tick";
    EXPECT_EQ(gpu->judgement.floor, Bytes{10 * kGiB});
}

TEST(GpuJudge, WithoutGpuMemoryThereIsNothingToJudge) {
    TargetJudge judge{std::chrono::minutes(20)};
    TargetSnapshot target;
    judge.consider(Seconds(1), kWall, target);
    EXPECT_EQ(target.verdicts.size(), 1U);
}

TEST(GpuJudge, PinnedMemoryHasAVerdictAndNoLimit) {
    WatchedGpu watched;
    for (double t = 0; t < 3600; t += 5) {
        watched.latest = {};
        watched.latest.gpu.emplace().pinned[{Role::trainer, {}}].by_kind[0] = Bytes{rising(t)};
        watched.judge.consider(Seconds(1000 + t), kWall + Seconds(t), watched.latest);
    }
    const ScopeVerdict* pinned = watched.of(VerdictScope::pinned);
    ASSERT_NE(pinned, nullptr);
    EXPECT_EQ(pinned->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(pinned->forecast);
    EXPECT_THAT(pinned->explanation, StartsWith("Pinned host memory: The floor"));
    EXPECT_EQ(watched.of(VerdictScope::gpu), nullptr);
}

}  // namespace gpu_judge_test
}  // namespace memscope
