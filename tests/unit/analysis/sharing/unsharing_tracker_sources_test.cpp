// The two sources: sums over all processes, and the pages of single workers. Tests which one is used when, and what
// happens if one is missing.
#include <gmock/gmock.h>

#include "analysis/sharing/unsharing_tracker.h"
#include "shared_job.h"

namespace memscope {
namespace unsharing_tracker_sources_test {

using test::begin;
using test::mib;
using test::SharedJob;
using test::three_workers;
using testing::HasSubstr;

TEST(Sharing, WithoutPageReadingsOnlySumsAreUsed) {
    SharedJob job;
    job.readable = false;
    begin(job, {11, 12, 13});
    for (int i = 0; i < 50; ++i) {
        for (const pid_t pid : {11, 12, 13}) {
            job.copy(pid, mib(4));
            job.grow(pid, mib(1));
        }
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 600, 6);
    EXPECT_FALSE(job.latest().unshared.at({Role::dataloader_worker}).confirmed);
}

TEST(Sharing, ErrorsOfTheSumsDoNotAccumulate) {
    SharedJob job;
    job.readable = false;
    begin(job, {11});
    for (int i = 0; i < 1000; ++i) {
        job.jitter(i % 3 * (4 << 20));
        job.fault(11, mib(20));
        job.tick();
    }
    EXPECT_LE(job.unshared(), 8);
}

TEST(Sharing, WithOtherProcessesInTheCgroupOnlyPageReadingsAreUsed) {
    SharedJob job;
    job.cgroup_is_ours = false;
    begin(job, {11});
    for (int i = 0; i < 10; ++i) {
        job.copy(11, mib(10));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 100, 1);
    EXPECT_FALSE(job.latest().cgroup_anon);
}

TEST(Sharing, OlderWorkersCountFromTheFirstTick) {
    SharedJob job;
    job.start(1, mib(1000));
    job.fork(1, 11);
    job.copy(11, mib(300));  // not seen by any source
    job.tick();
    EXPECT_EQ(job.unshared(), 0);
    job.copy(11, mib(100));
    job.tick();
    EXPECT_NEAR(job.unshared(), 100, 1);
    EXPECT_THAT(job.latest().explanation, HasSubstr("1 worker has copied 100 MiB of the trainer's pages since"));
}

TEST(Sharing, AnExecEndsUnSharing) {
    SharedJob job = three_workers();
    job.copy(11, mib(200));
    job.tick();
    job.exec(11, mib(10));
    job.tick();
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, AForkedProcessWithWorkersOfItsOwnIsNotChargedWithTheirCopies) {
    SharedJob job;
    job.start(1, mib(100), Role::launcher);
    job.tick();
    job.fork(1, 2, Role::trainer);
    job.grow(2, mib(900));
    job.tick();
    job.fork(2, 11);
    job.tick();
    for (int i = 0; i < 20; ++i) {
        job.copy(11, mib(10));
        job.becomes_own(2, mib(10));
        job.fault(2, mib(20));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 200, 1);
    EXPECT_FALSE(job.latest().unshared.contains({Role::trainer}));
}

TEST(Sharing, SumsAreUsedUntilThePageReadingsConfirmThem) {
    SharedJob job = three_workers();
    job.read_every = 1000;
    job.tick();
    const RoleKey workers{Role::dataloader_worker};
    for (int i = 1; i <= 50; ++i) {
        for (const pid_t pid : {11, 12, 13}) job.copy(pid, mib(2));
        job.tick();
        EXPECT_NEAR(job.unshared(), 6 * i, 1);
    }
    EXPECT_FALSE(job.latest().unshared.at(workers).confirmed);
    EXPECT_THAT(job.latest().explanation, HasSubstr("3 workers seem to have copied 300 MiB"));
    job.read_every = 1;
    job.tick();
    EXPECT_NEAR(job.unshared(), 300, 1);
    EXPECT_TRUE(job.latest().unshared.at(workers).confirmed);
    EXPECT_THAT(job.latest().explanation, HasSubstr("3 workers have copied 300 MiB"));
}

TEST(Sharing, PageReadingsCorrectTheSums) {
    SharedJob job = three_workers();
    job.read_every = 1000;
    for (int i = 0; i < 10; ++i) {
        job.free_shared(1, mib(20));
        job.fault(11, mib(30));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 200, 1);
    EXPECT_FALSE(job.latest().unshared.at({Role::dataloader_worker}).confirmed);
    job.read_every = 1;
    job.tick();
    EXPECT_LE(job.unshared(), 1);
    EXPECT_TRUE(job.latest().unshared.at({Role::dataloader_worker}).confirmed);
}

TEST(Sharing, SumsContinueFromTheConfirmedValue) {
    for (const int every : {1, 3, 10, 40}) {
        SharedJob job = three_workers();
        job.read_every = every;
        double before = 0;
        for (int i = 1; i <= 100; ++i) {
            for (const pid_t pid : {11, 12, 13}) {
                job.copy(pid, mib(1));
                job.grow(pid, mib(1));
            }
            job.tick();
            EXPECT_GE(job.unshared(), before - 1) << every;
            EXPECT_NEAR(job.unshared(), 3 * i, 4) << every;
            before = job.unshared();
        }
    }
}

TEST(Sharing, SmallAmountsHaveNoSentence) {
    SharedJob job = three_workers();
    job.copy(11, mib(60));
    job.tick();
    EXPECT_EQ(job.latest().explanation, "");
    SharedJob large;
    large.start(1, mib(10'000));
    large.tick();
    large.fork(1, 11);
    large.copy(11, mib(150));  // 1.5 %
    large.tick();
    EXPECT_EQ(large.latest().explanation, "");
    large.copy(11, mib(100));
    large.tick();
    EXPECT_NE(large.latest().explanation, "");
}

}  // namespace unsharing_tracker_sources_test
}  // namespace memscope
