// Memory that processes allocate from the CUDA driver: the sums equal those of the calls, to the byte.
#include <thread>

#include "kernel/gpu/fake_cuda.h"

namespace memscope {
namespace cuda_calls_test {

TEST(CudaCalls, AreCountedByDeviceAndByApi) {
    CudaJob job("shared-cuda-apis", [](const FakeCuda& cuda, const Child::Script&) {
        cuda.use(1);
        cuda.alloc(5 * kMiB);
        std::uint64_t address = 0;
        std::size_t pitch = 0;
        cuda.call("cuMemAllocPitch_v2", &address, &pitch, std::size_t{1000}, std::size_t{64}, 4U);
        cuda.call("cuMemAllocManaged", &address, 3 * kMiB, 1U);
        cuda.alloc_async(7 * kMiB);
        cuda.alloc_async(11 * kMiB, "cuMemAllocAsync_ptsz");
        cuda.alloc_async(13 * kMiB, "cuMemAllocFromPoolAsync");
        cuda.alloc_async(17 * kMiB, "cuMemAllocFromPoolAsync_ptsz");
        cuda.use(0);
        cuda.alloc(19 * kMiB);
    });
    const TargetSnapshot& target = job.done();
    const GpuUse& second = use_of(target, job.child.pid(), 1);
    EXPECT_EQ(second.of(CudaApi::alloc).n, 5 * kMiB + 1024 * 64);
    EXPECT_EQ(second.of(CudaApi::managed).n, 3 * kMiB);
    EXPECT_EQ(second.of(CudaApi::pool).n, 48 * kMiB);
    EXPECT_EQ(second.of(CudaApi::vmm).n, 0U);
    EXPECT_EQ(use_of(target, job.child.pid(), 0).reserved_total().n, 19 * kMiB);
    EXPECT_EQ(target.gpu->roles.at({RoleKey{Role::other}, fake_gpu(0)}).reserved_total().n, 19 * kMiB);
    EXPECT_TRUE(job.watched.has_probe("gpu"));
    job.watched.expect_nothing_lost();
}

TEST(CudaCalls, GiveBackWhatTheyFreeInWhicheverThread) {
    CudaJob job("shared-cuda-free", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        const std::uint64_t kept = cuda.alloc(kMiB);
        const std::uint64_t freed = cuda.alloc(2 * kMiB);
        const std::uint64_t pooled = cuda.alloc_async(4 * kMiB);
        std::thread([&] {
            cuda.free(freed);
            cuda.call("cuMemFreeAsync_ptsz", pooled, static_cast<void*>(nullptr));
        }).join();
        script.say();
        script.wait();
        cuda.call("fake_cuda_let_frees_fail", 1);
        cuda.free(kept);
        script.say();
        script.wait();
        cuda.call("fake_cuda_let_frees_fail", 0);
        cuda.free(kept);
        cuda.free(0xdead);
    });
    EXPECT_EQ(use_of(job.done(), job.child.pid(), 0).reserved_total().n, kMiB);
    EXPECT_EQ(use_of(job.done(), job.child.pid(), 0).reserved_total().n, kMiB) << "it was not freed";
    EXPECT_EQ(use_of(job.done(), job.child.pid(), 0).reserved_total().n, 0U);
}

TEST(CudaCalls, OfManyThreadsThatGetEachOthersAddressesAddUp) {
    CudaJob job("shared-cuda-threads", [](const FakeCuda& cuda, const Child::Script&) {
        const auto churn = [&] {
            cuda.use(0);
            for (int i = 0; i < 5000; ++i) cuda.free(cuda.alloc(kMiB));
            cuda.alloc(kMiB);
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back(churn);
        for (std::thread& thread : threads) thread.join();
    });
    EXPECT_EQ(use_of(job.done(), job.child.pid(), 0).reserved_total().n, 4 * kMiB);
    job.watched.expect_nothing_lost();
}

TEST(CudaCalls, ThatPinHostMemoryAreOfTheHost) {
    CudaJob job("shared-cuda-pinned", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        void* one = nullptr;
        void* two = nullptr;
        static char registered[4096];
        cuda.call("cuMemHostAlloc", &one, 3 * kMiB, 0U);
        cuda.call("cuMemAllocHost_v2", &two, 5 * kMiB);
        cuda.call("cuMemHostRegister_v2", static_cast<void*>(registered), sizeof registered, 0U);
        script.say();
        script.wait();
        cuda.call("cuMemFreeHost", one);
        cuda.call("cuMemHostUnregister", static_cast<void*>(registered));
    });
    const PinnedUse held = pinned_of(job.done(), job.child.pid());
    EXPECT_EQ(held.of(PinnedKind::allocated).n, 8 * kMiB);
    EXPECT_EQ(held.of(PinnedKind::registered).n, 4096U);
    const TargetSnapshot& target = job.done();
    EXPECT_EQ(pinned_of(target, job.child.pid()).of(PinnedKind::allocated).n, 5 * kMiB);
    EXPECT_EQ(pinned_of(target, job.child.pid()).of(PinnedKind::registered).n, 0U);
    EXPECT_EQ(use_of(target, job.child.pid(), 0).reserved_total().n, 0U);
}

}  // namespace cuda_calls_test
}  // namespace memscope
