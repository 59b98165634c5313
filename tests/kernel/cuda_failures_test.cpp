// Allocations that the CUDA driver refuses, and processes that end for it.
#include <cstdlib>

#include "kernel/deaths.h"
#include "kernel/fake_cuda.h"

namespace memscope {
namespace {

struct Budget {  // for the children that are made while it stands
    Budget() { ::setenv("FAKE_CUDA_BYTES", std::to_string(10 * kMiB).c_str(), 1); }
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;
    ~Budget() { ::unsetenv("FAKE_CUDA_BYTES"); }
};

TEST(CudaFailures, AreCountedByDevice) {
    const Budget budget;
    CudaJob job("shared-cuda-failures", [](const FakeCuda& cuda, const Child::Script&) {
        cuda.use(1);
        cuda.alloc(8 * kMiB);
        cuda.alloc(4 * kMiB);
        cuda.alloc_async(5 * kMiB);
        cuda.create(6 * kMiB, 1);
    });
    const TargetSnapshot& target = job.done();
    ASSERT_TRUE(target.gpu);
    EXPECT_EQ(target.gpu->failures.at({RoleKey{Role::other}, fake_gpu(1)}), 3U);
    EXPECT_EQ(use_of(target, job.child.pid(), 1).reserved_total().n, 8 * kMiB);
    job.child.finish();
    EXPECT_EQ(failures_of(job.watched.tick(job.job)), 3U) << "a counter lives on";
}

TEST(CudaFailures, ShortlyBeforeAnExitInFailureExplainIt) {
    const Budget budget;
    CudaJob job("shared-cuda-death", [](const FakeCuda& cuda, const Child::Script&) {
        cuda.use(1);
        cuda.alloc(8 * kMiB);
        cuda.alloc(4 * kMiB);
        ::_exit(1);
    });
    job.child.go();
    const Death death = only_death(job.watched, job.job);
    EXPECT_EQ(death.cause, DeathCause::cuda_oom);
    ASSERT_TRUE(death.gpu);
    EXPECT_EQ(death.gpu->gpu, fake_gpu(1));
    EXPECT_EQ(death.gpu->size.n, 4 * kMiB);
    EXPECT_LT(death.gpu->before_exit.count(), 5);
    EXPECT_EQ(death.exit_status, 1);
    EXPECT_NE(death.explanation.find("had no 4.0 MiB for it on " + fake_gpu(1)), std::string::npos)
        << death.explanation;
}

TEST(CudaFailures, AreForgottenWhenAsMuchIsHadAfterAll) {
    const Budget budget;
    CudaJob job("shared-cuda-retry", [](const FakeCuda& cuda, const Child::Script&) {
        cuda.use(0);
        const std::uint64_t cached = cuda.alloc(8 * kMiB);
        cuda.alloc(4 * kMiB);
        cuda.free(cached);
        cuda.alloc(4 * kMiB);
        ::_exit(1);
    });
    job.child.go();
    wait_for(job.child);
    EXPECT_TRUE(job.watched.tick(job.job).deaths.empty());
    EXPECT_TRUE(job.watched.tick(job.job).deaths.empty());
    EXPECT_EQ(failures_of(job.watched.tick(job.job)), 1U);
}

}  // namespace
}  // namespace memscope
