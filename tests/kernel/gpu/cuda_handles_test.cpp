// Memory that is allocated without an address (cuMemCreate): counted by its handle, independent of its mappings.
#include <thread>

#include "kernel/gpu/fake_cuda.h"

namespace memscope {
namespace cuda_handles_test {

std::uint64_t held(const TargetSnapshot& target, pid_t pid) { return use_of(target, pid, 1).of(CudaApi::vmm).n; }

TEST(CudaHandles, ThatAreReleasedWhileMappedHoldTheirMemoryUntilItIsUnmapped) {
    CudaJob job("shared-cuda-vmm", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        cuda.use(0);  // the call itself names the device
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        for (int i = 0; i < 8; ++i) {
            const std::uint64_t handle = cuda.create(2 * kMiB, 1);
            cuda.map(base + i * 2 * kMiB, 2 * kMiB, handle);
            cuda.release(handle);
        }
        script.say();
        script.wait();
        cuda.unmap(base + 2 * kMiB, 10 * kMiB);
        script.say();
        script.wait();
        cuda.unmap(base + 40 * kMiB, 2 * kMiB);  // nothing is mapped there
        cuda.unmap(base, 2 * kMiB);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 16 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 6 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB);
    job.watched.expect_nothing_lost();
}

TEST(CudaHandles, HoldTheirMemoryOnceHoweverOftenItIsMapped) {
    CudaJob job("shared-cuda-twice", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        const std::uint64_t handle = cuda.create(4 * kMiB, 1);
        cuda.map(base, 4 * kMiB, handle);
        cuda.map(base + 8 * kMiB, 4 * kMiB, handle);
        script.say();
        script.wait();
        cuda.release(handle);
        cuda.unmap(base, 4 * kMiB);
        script.say();
        script.wait();
        cuda.unmap(base + 8 * kMiB, 4 * kMiB);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB) << "one mapping is left";
    EXPECT_EQ(held(job.done(), job.child.pid()), 0U);
    job.watched.expect_nothing_lost();
}

TEST(CudaHandles, ThatAreUnmappedAndNotReleasedAreALeak) {
    CudaJob job("shared-cuda-unreleased", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        const std::uint64_t never_mapped = cuda.create(2 * kMiB, 1);
        const std::uint64_t handle = cuda.create(4 * kMiB, 1);
        cuda.map(base, 4 * kMiB, handle);
        cuda.unmap(base, 4 * kMiB);
        script.say();
        script.wait();
        cuda.release(never_mapped);
        cuda.release(handle);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 6 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 0U);
}

TEST(CudaHandles, LiveUntilTheLastReferenceIsReleased) {
    CudaJob job("shared-cuda-retained", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        const std::uint64_t handle = cuda.create(4 * kMiB, 1);
        std::uint64_t again = 0;
        cuda.map(base, 4 * kMiB, handle);
        cuda.call("cuMemRetainAllocationHandle", &again, reinterpret_cast<void*>(base));
        cuda.unmap(base, 4 * kMiB);
        cuda.release(handle);
        script.say();
        script.wait();
        cuda.call("fake_cuda_let_frees_fail", 1);
        cuda.release(again);
        script.say();
        script.wait();
        cuda.call("fake_cuda_let_frees_fail", 0);
        cuda.release(again);
        cuda.release(again);  // one release too many: refused
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB) << "it was not released";
    EXPECT_EQ(held(job.done(), job.child.pid()), 0U);
    job.watched.expect_nothing_lost();
}

TEST(CudaHandles, ThatCannotBeReleasedOrMappedStayAsTheyWere) {
    CudaJob job("shared-cuda-refused", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        const std::uint64_t handle = cuda.create(4 * kMiB, 1);
        cuda.map(base, 4 * kMiB, handle);
        cuda.map(base, 4 * kMiB, handle);  // refused: the address is in use
        cuda.call("fake_cuda_let_frees_fail", 1);
        cuda.release(handle);
        cuda.call("fake_cuda_let_frees_fail", 0);
        cuda.unmap(base, 4 * kMiB);
        script.say();
        script.wait();
        cuda.release(handle);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 4 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 0U);
}

TEST(CudaHandles, OfOtherProcessesAreNotThisProcesssMemory) {
    CudaJob job("shared-cuda-imported", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        std::uint64_t imported = 0;
        cuda.call("cuMemImportFromShareableHandle", &imported, static_cast<void*>(nullptr), 1);
        cuda.map(base, 4 * kMiB, imported);
        const std::uint64_t own = cuda.create(2 * kMiB, 1);
        script.say();
        script.wait();
        cuda.unmap(base, 4 * kMiB);
        cuda.release(imported);
        script.say();
        script.wait();
        cuda.release(own);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 2 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 2 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()), 0U);
    job.watched.expect_nothing_lost();
}

TEST(CudaHandles, FromBeforeTheWatcherSubtractNothing) {
    EarlierCudaJob job("cuda-handles-before", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        const std::uint64_t base = cuda.reserve(64 * kMiB);
        const std::uint64_t before = cuda.create(8 * kMiB, 1);
        cuda.map(base, 8 * kMiB, before);
        script.say();
        script.wait();
        cuda.use(1);
        std::uint64_t again = 0;
        const std::uint64_t own = cuda.create(2 * kMiB, 1);
        cuda.call("cuMemRetainAllocationHandle", &again, reinterpret_cast<void*>(base));
        cuda.map(base + 16 * kMiB, 8 * kMiB, again);
        cuda.release(again);
        cuda.unmap(base + 16 * kMiB, 8 * kMiB);
        cuda.unmap(base, 8 * kMiB);
        cuda.release(before);
        script.say();
        script.wait();
        cuda.release(own);
    });
    EXPECT_EQ(held(job.next(), job.child.pid()), 2 * kMiB);
    EXPECT_EQ(held(job.next(), job.child.pid()), 0U);
}

TEST(CudaHandles, OfManyThreadsThatReuseTheirAddressesAddUp) {
    CudaJob job("shared-cuda-handle-threads", [](const FakeCuda& cuda, const Child::Script&) {
        const auto churn = [&](std::uint64_t base) {
            for (int i = 0; i < 2000; ++i) {
                const std::uint64_t handle = cuda.create(2 * kMiB, 1);
                cuda.map(base, 2 * kMiB, handle);
                cuda.release(handle);
                cuda.unmap(base, 2 * kMiB);
            }
            cuda.map(base, 2 * kMiB, cuda.create(2 * kMiB, 1));
        };
        cuda.use(1);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back(churn, cuda.reserve(2 * kMiB));
        for (std::thread& thread : threads) thread.join();
    });
    EXPECT_EQ(held(job.done(), job.child.pid()), 8 * kMiB);
    job.watched.expect_nothing_lost();
}

}  // namespace cuda_handles_test
}  // namespace memscope
