// Events that end an allocation without a free: the end of a context, an exit, an exec. And events that do not: forks,
// other copies of the library.
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/deaths/deaths.h"
#include "kernel/gpu/fake_cuda.h"

namespace memscope {
namespace cuda_ends_test {

Bytes held(const TargetSnapshot& target, pid_t pid, int device = 0) {
    return use_of(target, pid, device).reserved_total();
}

std::pair<Fd, Fd> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    return {Fd(ends[0]), Fd(ends[1])};
}

void say_byte(const Fd& pipe) {
    if (::write(pipe.get(), "x", 1) != 1) throw std::runtime_error("nobody listens");
}

void wait_for_byte(const Fd& pipe) {
    char byte = 0;
    if (::read(pipe.get(), &byte, 1) != 1) throw std::runtime_error("nobody is left to say anything");
}

// As many allocations as the map can hold; the others are counted as lost.
Watched with_room_for(std::uint32_t allocations, const RealCgroup& job) {
    return Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}, .cuda_live = allocations});
}

TEST(CudaContexts, ResetAndReleaseFreeAllMemoryOfTheContext) {
    CudaJob job("shared-cuda-reset", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(1);
        cuda.use(0);
        const std::uint64_t stale = cuda.alloc(3 * kMiB);
        script.say();
        script.wait();
        cuda.call("cuDevicePrimaryCtxReset_v2", 0);
        cuda.call("cuMemFree_v2", stale);  // memory of a context that has ended: nothing is subtracted
        cuda.alloc(5 * kMiB);
        script.say();
        script.wait();
        cuda.call("cuDevicePrimaryCtxRelease_v2", 0);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 3 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 5 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 0U);
}

TEST(CudaContexts, CreatedContextsAreFollowedThroughPushAndPop) {
    CudaJob job("shared-cuda-contexts", [](const FakeCuda& cuda, const Child::Script& script) {
        void* none = nullptr;
        void* second = nullptr;
        cuda.use(0);
        unsigned char uuid[16];
        cuda.call("cuDeviceGetUuid", static_cast<unsigned char*>(uuid), 1);
        cuda.call("cuCtxCreate_v3", &second, none, 0, 0U, 1);
        cuda.alloc(kMiB);  // on device 1
        cuda.call("cuCtxPopCurrent_v2", &none);
        cuda.alloc(2 * kMiB);  // on device 0
        cuda.call("cuCtxPushCurrent_v2", second);
        cuda.alloc(4 * kMiB);
        script.say();
        script.wait();
        cuda.call("cuCtxDestroy_v2", second);
    });
    const TargetSnapshot& target = job.done();
    EXPECT_EQ(held(target, job.child.pid(), 0).n, 2 * kMiB);
    EXPECT_EQ(held(target, job.child.pid(), 1).n, 5 * kMiB);
    const TargetSnapshot& after = job.done();
    EXPECT_EQ(held(after, job.child.pid(), 0).n, 2 * kMiB);
    EXPECT_EQ(held(after, job.child.pid(), 1).n, 0U);
}

// A library that retains the primary context and releases it again, in a process that holds it already.
TEST(CudaContexts, AReleaseInAnEarlierProcessFreesNothingButAResetDoes) {
    EarlierCudaJob job("cuda-pair-before", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);  // not seen by memscope
        script.say();
        script.wait();
        void* library = nullptr;
        cuda.use(0);
        cuda.alloc(3 * kMiB);
        cuda.call("cuDevicePrimaryCtxRelease_v2", 0);
        script.say();
        script.wait();
        cuda.call("cuCtxCreate_v2", &library, 0U, 0);
        cuda.call("cuCtxPopCurrent_v2", &library);
        cuda.call("cuCtxDestroy_v2", library);
        script.say();
        script.wait();
        cuda.call("cuDevicePrimaryCtxReset_v2", 0);
    });
    EXPECT_EQ(held(job.next(), job.child.pid()).n, 3 * kMiB);
    EXPECT_EQ(held(job.next(), job.child.pid()).n, 3 * kMiB) << "nor with a context of its own";
    EXPECT_EQ(held(job.next(), job.child.pid()).n, 0U) << "a reset ends all of them";
}

TEST(CudaContexts, TheLastReleaseFreesTheMemoryOfAProcessSeenFromItsStart) {
    CudaJob job("shared-cuda-pairs", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        cuda.alloc(3 * kMiB);
        cuda.use(0);
        cuda.call("cuDevicePrimaryCtxRelease_v2", 0);
        script.say();
        script.wait();
        cuda.call("cuDevicePrimaryCtxRelease_v2", 0);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 3 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 0U);
}

TEST(CudaProcesses, ThatAreForkedOwnNothing) {
    CudaJob job("shared-cuda-fork", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        cuda.alloc(3 * kMiB);
        const pid_t child = ::fork();
        if (child == 0) {
            ::pause();
            ::_exit(0);
        }
        script.say();
        script.wait();
        ::kill(child, SIGTERM);
        ::waitpid(child, nullptr, 0);
    });
    const TargetSnapshot& target = job.done();
    ASSERT_TRUE(target.gpu);
    EXPECT_EQ(target.processes.size(), 2U);
    EXPECT_EQ(target.gpu->processes.size(), 1U);
    EXPECT_EQ(held(target, job.child.pid()).n, 3 * kMiB);
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 3 * kMiB) << "the exit of the child does not change its parent";
}

TEST(CudaProcesses, ThatEndOrExecuteAnotherProgramHoldNothingAnyMore) {
    auto [executed, says_executed] = make_pipe();
    CudaJob job("shared-cuda-ends", [&](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        cuda.alloc(3 * kMiB);
        script.say();
        script.wait();
        ::dup2(says_executed.get(), STDOUT_FILENO);
        ::execl("/bin/sh", "sh", "-c", "echo executed; exec sleep 100", nullptr);
    });
    says_executed = Fd();  // so that wait_for_byte() notices a child that fails
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 3 * kMiB);
    EXPECT_TRUE(job.watched.has_probe("gpu"));
    job.child.go();
    wait_for_byte(executed);  // the new program has written this byte, so the exec event has been sent
    const TargetSnapshot& target = job.watched.tick(job.job);
    ASSERT_EQ(target.processes.size(), 1U);
    EXPECT_FALSE(target.gpu);
    EXPECT_FALSE(job.watched.has_probe("gpu")) << "no process has the driver mapped any more";
}

TEST(CudaProcesses, EarlierProcessesAreFollowedFromTheStartOfWatching) {
    EarlierCudaJob job("cuda-before", [](const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        const std::uint64_t before = cuda.alloc(kMiB);
        script.say();
        script.wait();
        unsigned char uuid[16];
        cuda.call("cuDeviceGetUuid", static_cast<unsigned char*>(uuid), 0);
        cuda.alloc(2 * kMiB);
        cuda.free(before);  // memscope has not seen this allocation
    });
    const TargetSnapshot& target = job.next();
    ASSERT_TRUE(target.gpu && target.gpu->processes.contains(job.child.pid()));
    const auto& devices = target.gpu->processes.at(job.child.pid()).devices;
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_EQ(devices.begin()->first, GpuId{}) << "the call that names the device was before watching";
    EXPECT_EQ(devices.begin()->second.reserved_total().n, 2 * kMiB);
}

TEST(CudaLibraries, OfTwoCopiesInOneTreeAreBothFollowed) {
    const auto [from_second, second_says] = make_pipe();
    const auto [to_second, says_to_second] = make_pipe();
    CudaJob job("shared-cuda-copies", [&](const FakeCuda& cuda, const Child::Script& script) {
        const pid_t child = ::fork();
        if (child == 0) {
            const FakeCuda other("second");
            say_byte(second_says);
            wait_for_byte(to_second);
            other.use(1);
            other.alloc(7 * kMiB);
            say_byte(second_says);
            ::pause();
        }
        wait_for_byte(from_second);
        script.say();  // both copies are mapped
        script.wait();
        say_byte(says_to_second);
        cuda.use(0);
        cuda.alloc(3 * kMiB);
        wait_for_byte(from_second);
        script.say();
        script.wait();
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
    job.done();  // from this tick on both are followed
    const TargetSnapshot& target = job.done();
    ASSERT_TRUE(target.gpu);
    EXPECT_EQ(target.gpu->roles.at({RoleKey{Role::other}, fake_gpu(0)}).reserved_total().n, 3 * kMiB);
    EXPECT_EQ(target.gpu->roles.at({RoleKey{Role::other}, fake_gpu(1)}).reserved_total().n, 7 * kMiB);
}

TEST(CudaLibraries, FilesThatAreNoLibraryAreRefusedAndCounted) {
    const std::string path = std::filesystem::temp_directory_path() / ("libcuda.so." + std::to_string(::getpid()));
    std::ofstream(path) << std::string(8192, 'x');
    const RealCgroup job("cuda-fake");
    Child child(job, [path](const Child::Script& script) {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (::mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) ::_exit(1);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched({job.name()});
    watched.tick(job);
    watched.tick(job);
    EXPECT_EQ(watched.latest().self.dropped.at("cuda_library_refused"), 1U);
    EXPECT_FALSE(watched.has_probe("gpu"));
    std::filesystem::remove(path);
}

TEST(CudaAllocations, BeyondTheCapacityAreCountedAndNotSubtractedWhenFreed) {
    CudaJob job(
        "cuda-full",
        [](const FakeCuda& cuda, const Child::Script& script) {
            cuda.use(0);
            std::vector<std::uint64_t> all;
            for (int i = 0; i < 20; ++i) all.push_back(cuda.alloc(kMiB));
            script.say();
            script.wait();
            for (const std::uint64_t address : all) cuda.free(address);
        },
        [](const RealCgroup& cgroup) { return with_room_for(16, cgroup); });
    const TargetSnapshot& full = job.done();
    EXPECT_EQ(held(full, job.child.pid()).n, 16 * kMiB);
    EXPECT_EQ(job.watched.latest().self.dropped.at("gpu_live_full"), 4U);
    const Growth growth = job.watched.collector().growth()->report(full);
    ASSERT_FALSE(growth.gpu.unattributed.empty());
    EXPECT_EQ(growth.gpu.unattributed.back().reason, "no_room");
    EXPECT_EQ(growth.gpu.unattributed.back().bytes, static_cast<std::int64_t>(4 * kMiB));
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 0U);
}

TEST(CudaAllocations, AMillionAreExactAndRemovedAfterTheirProcessEnds) {
    constexpr std::size_t kMany = 1'000'000;
    CudaJob job("shared-cuda-million", [](const FakeCuda& cuda, const Child::Script&) {
        cuda.use(0);
        for (std::size_t i = 0; i < kMany; ++i) cuda.alloc(512);
    });
    EXPECT_EQ(held(job.done(), job.child.pid()).n, 512 * kMany);
    job.watched.expect_nothing_lost();
    job.child.finish();
    const std::uint64_t most = job.watched.collector().gpu_probes().calls().live_entries();
    EXPECT_GE(most, kMany);
    std::uint64_t left = most;
    for (int i = 0; i < 100 && left > 0; ++i) {
        job.watched.tick();
        left = job.watched.collector().gpu_probes().calls().live_entries();
    }
    EXPECT_EQ(left, 0U);
}

}  // namespace cuda_ends_test
}  // namespace memscope
