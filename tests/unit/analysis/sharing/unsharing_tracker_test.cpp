#include "analysis/sharing/unsharing_tracker.h"

#include <gmock/gmock.h>

#include "shared_job.h"

namespace memscope {
namespace unsharing_tracker_test {

using test::begin;
using test::mib;
using test::SharedJob;
using test::three_workers;

TEST(Sharing, AForkWithoutWritesCopiesNothing) {
    SharedJob job = three_workers();
    for (int i = 0; i < 10; ++i) job.tick();
    EXPECT_EQ(job.unshared(), 0);
    EXPECT_EQ(job.latest().summed_anon, mib(4000));
    EXPECT_EQ(job.latest().cgroup_anon, mib(1000));
    EXPECT_EQ(job.latest().explanation, "");
}

TEST(Sharing, CopiesOfEveryWorkerAreFound) {
    SharedJob job = three_workers();
    for (int i = 0; i < 50; ++i) {
        for (const pid_t pid : {11, 12, 13}) job.copy(pid, mib(4));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 600, 1);
    const Unshared& workers = job.latest().unshared.at({Role::dataloader_worker, std::nullopt});
    EXPECT_TRUE(workers.confirmed);
    EXPECT_EQ(workers.processes, 3U);
    EXPECT_EQ(job.latest().explanation,
              "3 workers have copied 600 MiB of the trainer's pages since they were forked; CPython's reference counts "
              "do this; keep datasets in arrays, not lists of objects");
}

TEST(Sharing, CopiesInTheTickOfTheForkAreFoundToo) {
    SharedJob job;
    job.start(1, mib(1000));
    job.tick();
    for (const pid_t pid : {11, 12, 13}) {
        job.fork(1, pid);
        job.copy(pid, mib(100));  // a garbage collection touches everything at once
    }
    job.tick();
    EXPECT_NEAR(job.unshared(), 300, 1);
}

TEST(Sharing, GrowthOfTheParentBeforeAForkInTheSameTickIsShared) {
    SharedJob job;
    job.start(1, mib(1));
    job.tick();
    job.grow(1, mib(999));  // loads its dataset
    for (const pid_t pid : {11, 12}) job.fork(1, pid);
    job.grow(12, mib(50));
    job.tick();
    for (int i = 0; i < 20; ++i) {
        for (const pid_t pid : {11, 12}) job.copy(pid, mib(5));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 200, 1);
    EXPECT_TRUE(job.latest().unshared.at({Role::dataloader_worker, std::nullopt}).confirmed);
}

TEST(Sharing, GrowthIsNoUnSharing) {
    for (const std::uint64_t pages_per_fault : {1ULL, 512ULL}) {
        SharedJob job = three_workers();
        for (int i = 0; i < 50; ++i) {
            job.grow(1, mib(20), pages_per_fault);
            for (const pid_t pid : {11, 12, 13}) job.grow(pid, mib(10), pages_per_fault);
            job.tick();
        }
        EXPECT_EQ(job.unshared(), 0);
    }
}

TEST(Sharing, RepeatedAllocationsAndFreesAreNoUnSharing) {
    SharedJob job = three_workers();
    for (int i = 0; i < 50; ++i) {
        for (const pid_t pid : {11, 12, 13}) i % 2 ? job.shrink(pid, mib(30)) : job.grow(pid, mib(30));
        job.tick();
    }
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, CopiesAreFoundBelowGrowth) {
    SharedJob job = three_workers();
    for (int i = 0; i < 50; ++i) {
        for (const pid_t pid : {11, 12, 13}) {
            i % 5 == 4 ? job.shrink(pid, mib(40)) : job.grow(pid, mib(10));
            job.copy(pid, mib(2));
        }
        job.grow(1, mib(5));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 300, 15);
}

TEST(Sharing, EachWorkerIsChargedWithItsOwnCopies) {
    SharedJob job;
    job.start(1, mib(1000));
    job.start(2, mib(1000));
    job.tick();
    job.fork(1, 11, Role::dataloader_worker);
    job.fork(2, 21, Role::helper);
    job.tick();
    for (int i = 0; i < 20; ++i) {
        job.copy(11, mib(1));
        job.copy(21, mib(9));
        job.fault(11, mib(50));  // for example faults of mapped files
        job.tick();
    }
    job.tick();  // the sums are compared with pages that are read after them
    EXPECT_NEAR(static_cast<double>(job.latest().unshared.at({Role::dataloader_worker}).bytes.n), 20 << 20, 1 << 20);
    EXPECT_NEAR(static_cast<double>(job.latest().unshared.at({Role::helper}).bytes.n), 180 << 20, 1 << 20);
}

TEST(Sharing, SharedMemoryThatTheParentFreesIsNoUnSharing) {
    SharedJob job = three_workers();
    for (int i = 0; i < 20; ++i) {
        job.free_shared(1, mib(20));
        for (const pid_t pid : {11, 12, 13}) job.fault(pid, mib(10));
        job.tick();
    }
    job.tick();  // the sums are compared with pages that are read after them
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, PagesThatOthersStopSharingAreNoCopiesWithoutFaults) {
    SharedJob job = three_workers();
    job.becomes_own(11, mib(500));
    job.tick();
    job.tick();
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, PagesThatOthersStopSharingDoNotReduceRealCopies) {
    SharedJob job;
    job.start(1, mib(1000));
    job.tick();
    job.fork(1, 11, Role::dataloader_worker);
    job.fork(1, 12, Role::helper);
    job.tick();
    for (int i = 0; i < 10; ++i) {
        job.copy(11, mib(10));
        job.becomes_own(12, mib(10));
        job.tick();
    }
    EXPECT_NEAR(static_cast<double>(job.latest().unshared.at({Role::dataloader_worker}).bytes.n), 100 << 20, 1 << 20);
    EXPECT_EQ(job.latest().unshared.at({Role::helper}).bytes.n, 0U);
}

TEST(Sharing, TheSumsBoundAFaultingWorkerThatIsTheLastToShare) {
    SharedJob job = three_workers();
    for (int i = 0; i < 20; ++i) {
        job.becomes_own(11, mib(20));
        job.fault(11, mib(30));  // for example faults of mapped files
        job.tick();
    }
    EXPECT_LE(job.unshared(), 1);
}

TEST(Sharing, SwappedOutMemoryIsNoUnSharing) {
    SharedJob job;
    job.readable = false;
    begin(job, {11, 12, 13});
    for (int i = 0; i < 20; ++i) {
        job.swap_out_shared(mib(10));
        for (const pid_t pid : {11, 12, 13}) job.fault(pid, mib(10));
        job.tick();
    }
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, TheSumsAloneNeverExceedTheFaults) {
    SharedJob job;
    job.readable = false;
    begin(job, {11});
    for (int i = 0; i < 10; ++i) {
        job.fault(11, mib(1));
        job.free_shared(1, mib(50));
        job.tick();
    }
    EXPECT_LE(job.unshared(), 10);
}

TEST(Sharing, TheSharedPagesOfAnEndedWorkerAreNotCountedForTheOthers) {
    SharedJob job;
    job.readable = false;
    begin(job, {11, 12, 13});
    job.exit(11);
    job.fault(12, mib(500));
    job.tick();
    job.tick();
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, DoesNotDecreaseWhileAWorkerLivesAndEndsWithIt) {
    SharedJob job = three_workers();
    job.copy(11, mib(200));
    job.copy(12, mib(100));
    job.tick();
    EXPECT_NEAR(job.unshared(), 300, 1);
    job.shrink(11, mib(150));
    job.tick();
    EXPECT_NEAR(job.unshared(), 300, 1);
    job.exit(12);
    job.tick();
    EXPECT_NEAR(job.unshared(), 200, 1);
    job.exit(11);
    job.exit(13);
    job.tick();
    EXPECT_EQ(job.unshared(), -1);
    EXPECT_EQ(job.latest().explanation, "");
}

TEST(Sharing, EachGenerationOfWorkersBeginsAtNothing) {
    SharedJob job;
    job.start(1, mib(1000));
    job.tick();
    pid_t pid = 10;
    for (int epoch = 0; epoch < 5; ++epoch) {
        const pid_t first = pid, second = pid + 1;
        pid += 2;
        job.fork(1, first);
        job.fork(1, second);
        job.tick();
        EXPECT_EQ(job.unshared(), 0) << epoch;
        for (int i = 0; i < 10; ++i) {
            job.copy(first, mib(10));
            job.copy(second, mib(5));
            job.tick();
        }
        EXPECT_NEAR(job.unshared(), 150, 1) << epoch;
        job.exit(first);
        job.exit(second);
        job.tick();
    }
}

TEST(Sharing, AStormOfForksIsNoUnSharing) {
    SharedJob job = three_workers();
    for (pid_t pid = 100; pid < 400; ++pid) {
        job.fork(1, pid, Role::other);
        if (pid % 3 == 0) job.exec(pid, mib(3));
        if (pid >= 110) job.exit(pid - 10);
        if (pid % 2 == 0) job.tick();
    }
    EXPECT_EQ(job.unshared(), 0);
}

TEST(Sharing, CopiesAreFoundInAStormOfForks) {
    SharedJob job = three_workers();
    for (pid_t pid = 100; pid < 200; ++pid) {
        job.fork(1, pid, Role::other);
        if (pid >= 110) job.exit(pid - 10);
        job.copy(11, mib(2));
        job.tick();
    }
    EXPECT_NEAR(job.unshared(), 200, 20);
}

}  // namespace unsharing_tracker_test
}  // namespace memscope
