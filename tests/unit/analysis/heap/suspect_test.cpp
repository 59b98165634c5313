#include "analysis/heap/suspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_objects.h"

namespace memscope {
namespace suspect_test {

constexpr double kMiB = 1 << 20;
constexpr double kNow = 1060;

GrowingHolder records() {
    return {.holder = test::holder("trainer.miner.records", "list", 1000, 100'000'000),
            .gain = {.address = 0x1000,
                     .length = 1156,
                     .gained = 156,
                     .since = 1000,
                     .gained_at = 1059,
                     .read_at = 1059,
                     .looks = 12,
                     .per_second = 2.6},
            .host_per_item = 122'092};
}

struct Job {
    explicit Job(std::vector<GrowingHolder> growing, double grown_bytes = 20 * kMiB) {
        ProcessHeap& heap = target.heap.emplace_back();
        heap.role = {Role::trainer};
        heap.growing = std::make_shared<const std::vector<GrowingHolder>>(std::move(growing));
        for (int i = 0; i <= 100; ++i)  // a hundred seconds up to now, on a clock that is 900 s behind
            memory.add(Seconds{60.0 + i},
                       Bytes{static_cast<std::uint64_t>(1e9 + grown_bytes / 60 * std::max(i - 40, 0))});
    }
    std::optional<Suspect> suspect(HolderMemory of = HolderMemory::host) const {
        return suspected_holder(target, verdict, memory, Seconds{900}, kNow, of);
    }
    TargetSnapshot target{};
    ScopeVerdict verdict{.judgement = {.verdict = Verdict::warming_up}};
    Series memory{};
};

TEST(Suspect, AContainerThatGainsAndGivesNothingBackIsNamedWithItsRate) {
    const auto suspect = Job({records()}).suspect();
    ASSERT_TRUE(suspect);
    EXPECT_EQ(
        suspect->text,
        "Suspected leak: `trainer.miner.records` (list) grows by 2.6 objects a second and 310 KiB/s; it has given "
        "nothing back for 60 s.");
    EXPECT_EQ(suspect->name, "trainer.miner.records");
    EXPECT_EQ(suspect->since, 1000);
    EXPECT_NEAR(suspect->share, 0.9, 0.02);
}

TEST(Suspect, OnlyWhileThereIsNoVerdict) {
    Job job({records()});
    for (const Verdict known : {Verdict::stable, Verdict::spiky, Verdict::leaking}) {
        job.verdict.judgement.verdict = known;
        EXPECT_FALSE(job.suspect());
    }
    job.verdict.judgement.verdict = Verdict::insufficient;
    EXPECT_TRUE(job.suspect());
    job.verdict.cause = GrowthCause{.kind = GrowthCause::Kind::malloc_free};
    EXPECT_FALSE(job.suspect()) << "the growth is known to be something else";
}

TEST(Suspect, WarmUpOfTheFirstSecondsIsNone) {
    GrowingHolder young = records();
    young.gain.since = 1031;
    EXPECT_FALSE(Job({young}).suspect()) << "28 s";
    GrowingHolder few = records();
    few.gain.looks = 4;
    EXPECT_FALSE(Job({few}).suspect());
}

TEST(Suspect, IsWithdrawnWhenTheContainerStops) {
    GrowingHolder full = records();
    full.gain.gained_at = 1040;
    EXPECT_FALSE(Job({full}).suspect()) << "a cache that has reached its bound";
    GrowingHolder once = records();
    once.gain.longest_pause = Seconds{25};
    EXPECT_FALSE(Job({once}).suspect()) << "it gained in the imports, and once more later";
    GrowingHolder busy = records();
    busy.gain.gained_at = busy.gain.read_at = 1035;
    EXPECT_TRUE(Job({busy}).suspect()) << "a census takes long, so there was no look";
    busy.gain.since = 800;
    busy.gain.gained_at = busy.gain.read_at = 960;
    EXPECT_FALSE(Job({busy}).suspect()) << "it is not looked at any more";
}

TEST(Suspect, OnlyRealBytesAreSuspected) {
    GrowingHolder small = records();
    small.host_per_item = 8;
    EXPECT_FALSE(Job({small}).suspect());
    EXPECT_FALSE(Job({records()}, 300 * kMiB).suspect()) << "6 % of the growth";
    EXPECT_TRUE(Job({records()}, 150 * kMiB).suspect());
    EXPECT_FALSE(Job({records()}, 0).suspect()) << "the scope does not grow";
}

TEST(Suspect, ProcessesThatDoTheSameWorkCountForTheTargetAndNotForARank) {
    Job job({records()}, 200 * kMiB);
    EXPECT_FALSE(job.suspect());
    job.target.heap[0].held = HeldObjects{.alike = 7};
    ASSERT_TRUE(job.suspect());
    EXPECT_NEAR(job.suspect()->share, 8 * 0.09, 0.02);
    job.verdict.role = RoleKey{Role::trainer};
    EXPECT_FALSE(job.suspect());
    job.verdict.role = RoleKey{Role::trainer, 3};
    EXPECT_FALSE(job.suspect()) << "another process";
}

TEST(Suspect, TensorsOfAGpuAreSuspectedThere) {
    GrowingHolder tensors = records();
    tensors.host_per_item = 400;
    tensors.device_per_item = 122'092;
    const Job job({tensors});
    EXPECT_FALSE(job.suspect());
    ASSERT_TRUE(job.suspect(HolderMemory::device));
    EXPECT_THAT(job.suspect(HolderMemory::device)->text, testing::HasSubstr("and 310 KiB/s of GPU memory; it"));
}

TEST(Suspect, TheOneThatAddsMostIsNamed) {
    GrowingHolder less = records();
    less.holder.path = "trainer.log";
    less.host_per_item /= 2;
    EXPECT_EQ(Job({less, records()}).suspect()->name, "trainer.miner.records");
    EXPECT_EQ(Job({records(), less}).suspect()->name, "trainer.miner.records");
}

}  // namespace suspect_test
}  // namespace memscope
