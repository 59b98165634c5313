// Tensor bytes from PyTorch's static probes, on the real kernel with a fake library that has them.
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "kernel/deaths/deaths.h"
#include "kernel/gpu/fake_torch.h"
#include "kernel/in_a_process.h"

namespace memscope {
namespace gpu_tensors_test {

using Nothing = std::optional<std::uint64_t>;
constexpr Nothing kNotKnown = std::nullopt;

TEST(GpuTensors, AreCountedAtEveryAllocationSiteOfPyTorch) {
    TorchJob job("tensors-sites", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        cuda.alloc(20 * kMiB);
        cuda.use(1);
        cuda.alloc(50 * kMiB);
        const std::uint64_t first = torch.malloc(3 * kMiB, 0);
        const std::uint64_t second = torch.malloc(5 * kMiB, 1, "fake_torch_malloc_device");
        torch.malloc(7 * kMiB, 1);
        torch.malloc(11 * kMiB, 0, "fake_torch_malloc_device");
        script.say();
        script.wait();
        torch.free(first);
        torch.free(second, "fake_torch_free_uncached");
    });
    const TargetSnapshot& before = job.done();
    EXPECT_EQ(tensors_of(before, job.child.pid(), 0), 14 * kMiB);
    EXPECT_EQ(tensors_of(before, job.child.pid(), 1), 12 * kMiB);
    EXPECT_EQ(use_of(before, job.child.pid(), 0).cached(), Bytes{6 * kMiB});
    ASSERT_TRUE(before.gpu);
    const Process* process = Watched::process(before, job.child.pid());
    ASSERT_TRUE(process);
    const RoleKey role{process->role, process->rank};
    EXPECT_EQ(before.gpu->roles.at({role, fake_gpu(1)}).tensors, Bytes{12 * kMiB});
    const TargetSnapshot& after = job.done();
    EXPECT_EQ(tensors_of(after, job.child.pid(), 0), 11 * kMiB);
    EXPECT_EQ(tensors_of(after, job.child.pid(), 1), 7 * kMiB);
    EXPECT_TRUE(job.watched.has_probe("torch"));
    job.watched.expect_nothing_lost();
}

// In a separate process, because Watched gives up a capability for it.
TEST(GpuTensors, AreExactOnKernelsThatAttachOneProbeAtATime) {
    EXPECT_EQ(in_a_process([]() -> std::string {
                  TorchJob job(
                      "tensors-one-by-one",
                      [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script&) {
                          cuda.use(0);
                          torch.malloc(3 * kMiB);
                          torch.free(torch.malloc(5 * kMiB, 0, "fake_torch_malloc_device"));
                          torch.malloc(7 * kMiB, 0, "fake_torch_malloc_device");
                      },
                      [](const RealCgroup& cgroup) {
                          KernelFacts facts = gather_kernel_facts({});
                          facts.many_user_probes = false;
                          facts.atomic_exchange = false;
                          return Watched::on(facts, {.cgroups = {cgroup.name()}, .torch = true});
                      });
                  const auto tensors = tensors_of(job.done(), job.child.pid());
                  if (tensors != 10 * kMiB) return tensors ? std::to_string(*tensors) : "not known";
                  for (const auto& [reason, count] : job.watched.latest().self.dropped)
                      if (count != 0) return reason + " " + std::to_string(count);
                  return "";
              }),
              "");
}

TEST(GpuTensors, MayBeFreedByAnotherThreadThanAllocatedThem) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 5000;
    TorchJob job("tensors-threads", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        const std::uint64_t kept = torch.malloc(kMiB);
        const std::uint64_t given = torch.malloc(2 * kMiB);
        std::thread([&] { torch.free(given); }).join();
        std::vector<std::thread> threads;
        threads.reserve(kThreads);
        for (int i = 0; i < kThreads; ++i)
            threads.emplace_back([&] {
                for (int round = 0; round < kRounds; ++round) torch.free(torch.malloc(4096));
            });
        for (std::thread& thread : threads) thread.join();
        script.say();
        script.wait();
        torch.free(kept);
    });
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), kMiB);
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 0U);
    job.watched.expect_nothing_lost();
}

TEST(GpuTensors, OfAForkedProcessCountForItsParentOnly) {
    TorchJob job("tensors-fork", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        const std::uint64_t shared = torch.malloc(3 * kMiB);
        const pid_t child = ::fork();
        if (child == 0) {
            torch.free(shared);  // a forked worker frees tensors of its parent when its Python exits
            ::pause();
            ::_exit(0);
        }
        script.say();
        script.wait();
        ::kill(child, SIGTERM);
        ::waitpid(child, nullptr, 0);
    });
    const TargetSnapshot& target = job.done();
    EXPECT_EQ(target.processes.size(), 2U);
    ASSERT_TRUE(target.gpu);
    EXPECT_EQ(target.gpu->processes.size(), 1U);
    EXPECT_EQ(tensors_of(target, job.child.pid()), 3 * kMiB);
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 3 * kMiB) << "the exit of the child does not change its parent";
}

TEST(GpuTensors, AreGoneWithTheirProcessOrProgram) {
    TorchJob job("tensors-ends", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        for (int i = 0; i < 100; ++i) torch.malloc(kMiB);
        script.say();
        script.wait();
        ::execl("/bin/sleep", "sleep", "100", nullptr);
    });
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 100 * kMiB);
    EXPECT_EQ(job.watched.collector().gpu_probes().tensors().entries(), 100U);
    job.child.go();
    for (int i = 0; i < 50 && job.watched.tick(job.job).gpu; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const TargetSnapshot& target = job.watched.tick(job.job);
    ASSERT_EQ(target.processes.size(), 1U);
    EXPECT_FALSE(target.gpu);
    job.watched.tick();
    EXPECT_EQ(job.watched.collector().gpu_probes().tensors().entries(), 0U);
}

TEST(GpuTensors, OfProcessesThatWereThereBeforeAreNotKnown) {
    const RealCgroup job("tensors-before");
    Child child(job, [](const Child::Script& script) {
        const FakeTorch torch;
        const FakeCuda cuda;
        cuda.use(0);
        torch.malloc(kMiB);
        script.say();
        script.wait();
        cuda.use(0);
        cuda.alloc(50 * kMiB);
        torch.malloc(2 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched = watched_tensors();
    watched.tick(job);
    child.go();
    child.heard();
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_EQ(use_of(target, child.pid(), 0).reserved_total().n, 50 * kMiB);
    EXPECT_EQ(tensors_of(target, child.pid()), kNotKnown);
    EXPECT_EQ(use_of(target, child.pid(), 0).cached(), std::nullopt);
    for (const auto& [where, use] : target.gpu->roles) EXPECT_FALSE(use.tensors);
}

TEST(GpuTensors, AreUnknownOnceAnUnknownTensorIsFreed) {
    TorchJob job("tensors-unseen", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
        cuda.use(0);
        torch.malloc(3 * kMiB);
        script.say();
        script.wait();
        torch.free(0x123456000);
        torch.free(0);  // a null pointer is no tensor, so this free changes nothing
    });
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 3 * kMiB);
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), kNotKnown);
}

TEST(GpuTensors, ThatFindNoRoomAreCountedAndTheSumIsNotShown) {
    TorchJob job(
        "tensors-full",
        [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script& script) {
            cuda.use(0);
            for (int i = 0; i < 8; ++i) torch.malloc(kMiB);
            script.say();
            script.wait();
            for (int i = 0; i < 4; ++i) torch.malloc(kMiB);
        },
        [](const RealCgroup& cgroup) {
            return Watched::on(gather_kernel_facts({}), {.cgroups = {cgroup.name()}, .torch = true, .gpu_tensors = 8});
        });
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 8 * kMiB);
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), kNotKnown);
    EXPECT_EQ(job.watched.latest().self.dropped.at("tensors_full"), 4U);
}

TEST(GpuTensors, HundredThousandAreExactAndRemovedAfterTheirProcessEnds) {
    constexpr std::size_t kMany = 100'000;
    TorchJob job("tensors-many", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script&) {
        cuda.use(0);
        for (std::size_t i = 0; i < kMany; ++i) torch.malloc(512);
    });
    EXPECT_EQ(tensors_of(job.done(), job.child.pid()), 512 * kMany);
    job.watched.expect_nothing_lost();
    job.child.finish();
    for (int i = 0; i < 50 && job.watched.collector().gpu_probes().tensors().entries() > 0; ++i) job.watched.tick();
    EXPECT_EQ(job.watched.collector().gpu_probes().tensors().entries(), 0U);
}

// The semaphore that the library checks before it runs code for a probe. A separate copy of the library, because other
// tests watch theirs.
TEST(GpuTensorLibraries, HaveTheirSemaphoresRaisedWhileTheyAreWatchedAndNoLonger) {
    const RealCgroup job("torch-semaphore");
    const fs::path folder = fs::temp_directory_path() / ("memscope-torch-" + std::to_string(::getpid()));
    const std::string copy = folder / "libc10_cuda.so";
    fs::create_directory(folder);
    fs::copy_file(FakeTorch::path_of("probed"), copy);
    const auto ask = [](const Child& child) {
        child.go();
        return child.heard();
    };
    Child child(job, [&](const Child::Script& script) {
        const FakeTorch torch(copy);
        const FakeCuda cuda;
        for (;;) {
            script.say(torch.is_watched() ? "watched" : "alone");
            script.wait();
        }
    });
    EXPECT_EQ(child.heard(), "alone");
    {
        Watched without({job.name()});
        without.tick(job);
        EXPECT_EQ(ask(child), "alone") << "tensors were not requested";
        EXPECT_FALSE(without.has_probe("torch"));
    }
    {
        Watched watched = Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}, .torch = true});
        EXPECT_TRUE(watched.tick_until(job, [&](const TargetSnapshot&) { return watched.has_probe("torch"); }));
        EXPECT_EQ(ask(child), "watched");
    }
    // If another process reads /proc/PID/fdinfo of this test at that moment, the kernel keeps the closed descriptor a
    // little longer.
    std::string said = ask(child);
    for (int i = 0; i < 500 && said == "watched"; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        said = ask(child);
    }
    EXPECT_EQ(said, "alone");
    child.kill();
    fs::remove_all(folder);
}

TEST(GpuTensorLibraries, WithoutProbesAreReported) {
    TorchJob job(
        "tensors-bare",
        [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script&) {
            cuda.use(0);
            cuda.alloc(2 * kMiB);
            torch.malloc(kMiB);
        },
        [](const RealCgroup& cgroup) {
            return Watched::on(gather_kernel_facts({}), {.cgroups = {cgroup.name()}, .torch = true});
        },
        "bare");
    const TargetSnapshot& target = job.done();
    EXPECT_EQ(use_of(target, job.child.pid(), 0).reserved_total().n, 2 * kMiB);
    EXPECT_EQ(tensors_of(target, job.child.pid()), kNotKnown);
    EXPECT_FALSE(job.watched.has_probe("torch"));
    EXPECT_EQ(job.watched.latest().self.dropped.at("torch_library_refused"), 1U);
    const auto refusals = job.watched.collector().take_refusals();
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_NE(refusals[0].message().find("no probes of tensors"), std::string::npos) << refusals[0].message();
}

TEST(GpuTensorLibraries, AFollowedLibraryCountsTheNextJobFromItsStart) {
    TorchJob first("tensors-first", [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script&) {
        cuda.use(0);
        torch.malloc(kMiB);
    });
    EXPECT_EQ(tensors_of(first.done(), first.child.pid()), kMiB);
    TorchJob second(
        "tensors-second",
        [](const FakeTorch& torch, const FakeCuda& cuda, const Child::Script&) {
            cuda.use(0);
            torch.malloc(2 * kMiB);
        },
        [&](const RealCgroup&) { return first.watched; });
    EXPECT_EQ(tensors_of(second.done(), second.child.pid()), 2 * kMiB);
    EXPECT_EQ(tensors_of(*second.watched.find(first.job), first.child.pid()), kMiB);
}

}  // namespace gpu_tensors_test
}  // namespace memscope
