// Allocations that the CUDA driver refuses, and processes that die because of it.
#include <cstdlib>

#include "kernel/deaths/deaths.h"
#include "kernel/gpu/fake_cuda.h"
#include "kernel/processes/ranks.h"
#include "sources/gpu/nvml_abi.h"
#define FAKE_NVML ""
#include "support/fake_nvml.h"

extern "C" FakeNvml* fake_nvml_state();  // the NVML that is linked into this program

namespace memscope {
namespace cuda_failures_test {

struct Budget {  // for children that are forked while it is set
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
    EXPECT_EQ(failures_of(job.watched.tick(job.job)), 3U) << "a counter does not fall when a process exits";
}

TEST(CudaFailures, OfARankThatLosesItsPlaceAreCountedWithoutTheRank) {
    const Budget budget;
    const RealCgroup job("cuda-ranks");
    Watched watched = Watched::with({.cgroups = {job.name()}, .keep_ranks = Seconds{}});
    Child child(job, [](const Child::Script& script) {
        pretend_rank(7);
        script.say();
        script.wait();
        const FakeCuda cuda;
        script.say();
        script.wait();
        cuda.use(1);
        cuda.alloc(11 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    watched.tick(job);
    child.go();
    child.heard();
    ASSERT_TRUE(watched.tick_until(job, [&](const TargetSnapshot&) { return watched.has_probe("gpu"); }));
    child.go();
    child.heard();
    ASSERT_EQ(watched.tick(job).gpu.value_or(TargetGpu{}).failures.count({RoleKey{Role::other, 7}, fake_gpu(1)}), 1U);
    child.finish();
    watched.tick(job);
    const RankedProcesses crowd(job, 100, 99 + static_cast<int>(RankPlaces::kMost));
    ASSERT_TRUE(watched.tick_until(job, crowd.have_ranks()));
    const auto failures = watched.find(job)->gpu.value_or(TargetGpu{}).failures;
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_EQ(failures.begin()->first.first, RoleKey{Role::other});
    EXPECT_EQ(failures.begin()->second, 1U);
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

TEST(CudaFailures, AreExplainedByWhatTheDriverSaysAtTheFailedCall) {
    const Budget budget;
    static const std::string gpu = fake_gpu(1);  // the fake NVML keeps a pointer to it
    FakeNvml& nvml = *fake_nvml_state();
    nvml.hangs = false;
    nvml.device_count = 1;
    FakeNvml::Device& device = nvml.devices[0];
    device.uuid = gpu.c_str();
    device.total = 100 * kMiB;
    device.reserved = 5 * kMiB;
    device.used = 90 * kMiB;
    device.compute_count = 0;
    CudaJob job(
        "cuda-death-now",
        [](const FakeCuda& cuda, const Child::Script& script) {
            cuda.use(1);
            const std::uint64_t cached = cuda.alloc(3 * kMiB);
            cuda.alloc(7 * kMiB);
            cuda.free(cached);  // as PyTorch does before it retries
            script.say();
            script.wait();
            cuda.alloc(4 * kMiB);
            script.say();
            script.wait();
            ::_exit(1);
        },
        [](const RealCgroup& cgroup) {
            // The driver is polled every 10 s, so earlier values come from the failed call.
            return Watched::with({.cgroups = {cgroup.name()}, .nvml = "", .interval = std::chrono::seconds(10)});
        });
    const auto tick_until_used = [&](Bytes wanted) {
        for (int i = 0; i < 250; ++i) {
            job.watched.tick(job.job);
            const auto& gpus = job.watched.latest().gpus;
            if (gpus.size() == 1 && gpus[0].used == wanted) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return false;
    };
    ASSERT_TRUE(tick_until_used(Bytes{90 * kMiB}));
    job.done();
    device.used = 80 * kMiB;  // at the failed call
    job.done();
    ASSERT_TRUE(tick_until_used(Bytes{80 * kMiB})) << "the driver was not read after the failed call";
    device.used = 0;  // after the failure
    job.child.go();
    const Death death = only_death(job.watched, job.job);
    ASSERT_TRUE(death.gpu);
    EXPECT_EQ(death.gpu->gpu, gpu);
    EXPECT_EQ(death.gpu->free, Bytes{15 * kMiB});
    EXPECT_EQ(death.gpu->total, Bytes{100 * kMiB});
    EXPECT_EQ(death.gpu->reserved, Bytes{7 * kMiB}) << "memory that it freed afterwards does not count";
    ASSERT_TRUE(death.gpu->read_after);
    EXPECT_GE(death.gpu->read_after->count(), 0);
}

TEST(CudaFailures, AreForgottenWhenARetrySucceeds) {
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

}  // namespace cuda_failures_test
}  // namespace memscope
