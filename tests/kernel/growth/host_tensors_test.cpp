// Storages of PyTorch's host tensors by call stack, on the real kernel with a fake library that exports its functions.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/deaths/deaths.h"
#include "kernel/growth/fake_host_tensors.h"

namespace memscope {

// The tests find these functions by name.
extern "C" {
[[gnu::noinline]] void keep_outputs(const FakeHostTensors& tensors, std::uint64_t address, std::uint64_t bytes) {
    tensors.allocate(address, bytes);
    asm volatile("" ::"r"(&tensors) : "memory");  // no tail call: the frame stays
}
[[gnu::noinline]] void make_batch(const FakeHostTensors& tensors, std::uint64_t address, std::uint64_t bytes) {
    tensors.allocate(address, bytes);
    asm volatile("" ::"r"(&tensors) : "memory");
}
}

namespace host_tensors_test {

std::optional<std::int64_t> reason_in(const GrowthPlane& plane, std::string_view reason) {
    for (const UnattributedGrowth& part : plane.unattributed)
        if (part.reason == reason) return part.bytes;
    return std::nullopt;
}

TEST(CudaHostTensors, AreHeldByTheFunctionsThatAllocatedThemUntilTheyAreFreed) {
    HostTensorJob job("host-tensors", [](const FakeHostTensors& tensors, const Child::Script& script) {
        for (std::uint64_t i = 1; i <= 100; ++i) {
            make_batch(tensors, 0x1000 * i, 5000);
            keep_outputs(tensors, 0x1000000 + i, 700);
            tensors.free(0x1000 * i);
        }
        make_batch(tensors, 0x1000, 5000);
        script.say();
        script.wait();
        for (std::uint64_t i = 1; i <= 100; ++i) tensors.free(0x1000000 + i);
        tensors.free(0x999);  // not known
    });
    ASSERT_TRUE(job.watched.has_probe("host_tensors"));
    job.next();
    const Growth before = job.growth();
    EXPECT_EQ(held_at(before.tensors_host, "keep_outputs"), 70000);
    EXPECT_EQ(held_at(before.tensors_host, "make_batch"), 5000);
    EXPECT_EQ(held(before.tensors_host), 75000);
    EXPECT_TRUE(before.tensors_host.unattributed.empty());
    EXPECT_TRUE(before.host_tensors.since_seconds);
    job.next();
    const Growth after = job.growth();
    EXPECT_EQ(held_at(after.tensors_host, "keep_outputs"), 0);
    EXPECT_EQ(held(after.tensors_host), 5000);
    job.watched.expect_nothing_lost();
}

// Each step of a job allocates a batch and frees it. An answer in the middle of a step does not name it as the owner.
TEST(CudaHostTensors, ThatEachStepFreesAreNotNamedAsTheOwner) {
    constexpr std::uint64_t kMiB = 1 << 20;
    HostTensorJob job("host-tensors-steps", [](const FakeHostTensors& tensors, const Child::Script& script) {
        // The process also needs resident memory, because a line that keeps more than its process holds is not named.
        // Memory of sbrk() belongs to the heap, which has no owner.
        void* memory = ::sbrk(static_cast<std::intptr_t>(24 * kMiB));
        std::memset(memory, 1, 24 * kMiB);
        for (std::uint64_t i = 1; i <= 4; ++i) {  // one call, so all steps have the same stack
            make_batch(tensors, 0x1000 * i, 16 * kMiB);
            if (i == 4) break;
            keep_outputs(tensors, 0x1000000 + i, 3 * kMiB);
            tensors.free(0x1000 * i);
        }
        script.say();
        script.wait();
    });
    job.next();
    const Growth growth = job.growth();
    EXPECT_EQ(held_at(growth.tensors_host, "make_batch"), static_cast<std::int64_t>(16 * kMiB));
    ASSERT_TRUE(growth.owner) << growth.sentence;
    EXPECT_EQ(growth.owner->plane, PlaneKind::tensors_host);
    EXPECT_EQ(growth.owner->bytes, static_cast<std::int64_t>(9 * kMiB));
    job.next();
}

// Each step keeps 3 MiB and frees 16 MiB that the same calls of Python have allocated, each time with another native
// stack. The last step has freed nothing yet. The memory of sbrk() is there because a line that keeps more than its
// process holds is not named.
constexpr const char* kSteps = R"(import ctypes, itertools, os, sys, time
torch, libc, here = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None), sys.argv[2]
libc.sbrk.restype = ctypes.c_void_p
torch.allocate_along.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64]
delete = torch._ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv
delete.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
ways = itertools.count()
def wait_for(name):
    while not os.path.exists(here + '/' + name): time.sleep(0.01)
def step(number):
    for address, mib in ((0x1000000 + number, 3), (0x1000, 16)):
        torch.allocate_along(next(ways), 7, address, mib << 20)
open(here + '/ready', 'w').close()
wait_for('go')
ctypes.memset(libc.sbrk(48 << 20), 1, 48 << 20)
for number in range(10):
    if number == 5:
        open(here + '/half', 'w').close()
        wait_for('on')
    step(number)
    if number < 9: delete(None, 0x1000)
open(here + '/done', 'w').close()
time.sleep(1000)
)";

TEST(CudaHostTensors, WithTheSameCallsOfPythonAreOneLineAlthoughTheirNativeStacksDiffer) {
    constexpr std::int64_t kMiB = 1 << 20;
    const std::filesystem::path here =
        std::filesystem::temp_directory_path() / ("memscope-calls-" + std::to_string(::getpid()));
    std::filesystem::create_directory(here);
    std::ofstream(here / "train.py") << kSteps;
    const RealCgroup cgroup("host-tensors-calls");
    Watched watched = Watched::with({.cgroups = {cgroup.name()}});
    const Child child(cgroup, [&](const Child::Script&) {
        ::execlp("python3", "python3", (here / "train.py").c_str(), FakeHostTensors::path_of("exported").c_str(),
                 here.c_str(), nullptr);
        ::_exit(127);
    });
    const auto ticks_until = [&](const auto& holds) {
        return watched.tick_until(cgroup, [&](const TargetSnapshot&) {
            watched.collector().on_events();
            return holds();
        });
    };
    const auto has = [&](const char* name) { return std::filesystem::exists(here / name); };
    ASSERT_TRUE(ticks_until([&] { return has("ready") && watched.has_probe("host_tensors"); }));
    std::ofstream(here / "go").close();
    ASSERT_TRUE(ticks_until([&] { return has("half"); }));
    std::ofstream(here / "on").close();
    ASSERT_TRUE(ticks_until([&] { return has("done"); }));
    Growth growth;
    EXPECT_TRUE(watched.tick_until(cgroup, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return held(growth.tensors_host) == 46 * kMiB && growth.tensors_host.unattributed.empty();
    })) << held(growth.tensors_host);
    EXPECT_EQ(growth.tensors_host.sites.size(), 1U);
    ASSERT_TRUE(growth.owner) << growth.sentence;
    EXPECT_EQ(growth.owner->plane, PlaneKind::tensors_host);
    EXPECT_EQ(growth.owner->bytes, 30 * kMiB) << growth.sentence;
    watched.expect_nothing_lost();
    std::filesystem::remove_all(here);
}

TEST(CudaHostTensors, AtAnAddressThatIsAllocatedAgainReplaceTheFormerOnes) {
    HostTensorJob job("host-tensors-again", [](const FakeHostTensors& tensors, const Child::Script&) {
        make_batch(tensors, 0x1000, 5000);
        keep_outputs(tensors, 0x1000, 300);
    });
    job.next();
    const Growth growth = job.growth();
    EXPECT_EQ(held_at(growth.tensors_host, "make_batch"), 0);
    EXPECT_EQ(held_at(growth.tensors_host, "keep_outputs"), 300);
    EXPECT_EQ(held(growth.tensors_host), 300);
}

TEST(CudaHostTensors, OfAParentAreNotFreedByItsChild) {
    HostTensorJob job("host-tensors-fork", [](const FakeHostTensors& tensors, const Child::Script& script) {
        keep_outputs(tensors, 0x1000, 5000);
        const pid_t child = ::fork();
        if (child == 0) {
            make_batch(tensors, 0x2000, 70);
            tensors.free(0x1000);  // a forked worker frees storages of its parent when its Python exits
            ::pause();
            ::_exit(0);
        }
        script.say();
        script.wait();
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
    job.next();
    EXPECT_TRUE(job.watched.tick_until(job.job, [&](const TargetSnapshot&) {
        return held(job.growth().tensors_host) == 5070;
    })) << held(job.growth().tensors_host);
    const Growth both = job.growth();
    EXPECT_EQ(held_at(both.tensors_host, "keep_outputs"), 5000);
    EXPECT_EQ(held_at(both.tensors_host, "make_batch"), 70);
    job.next();
    const Growth parent = job.growth();
    EXPECT_EQ(held(parent.tensors_host), 5000);
    EXPECT_EQ(held_at(parent.tensors_host, "make_batch"), 0);
}

TEST(CudaHostTensors, OfAKilledProcessAreKnownForItsDeathReport) {
    HostTensorJob job("host-tensors-killed", [](const FakeHostTensors& tensors, const Child::Script& script) {
        const pid_t child = ::fork();
        if (child == 0) {
            keep_outputs(tensors, 0x2000, 5000);
            ::pause();
            ::_exit(0);
        }
        script.say();
        script.wait();
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
    job.next();
    ASSERT_TRUE(job.watched.tick_until(
        job.job, [&](const TargetSnapshot&) { return held_at(job.growth().tensors_host, "keep_outputs") == 5000; }));
    const TargetSnapshot before = *job.watched.find(job.job);
    job.next();
    const TargetSnapshot after = job.watched.tick(job.job);
    ASSERT_LT(after.processes.size(), before.processes.size());
    GrowthRecorder& growth = *job.watched.collector().growth();
    EXPECT_EQ(held_at(growth.report(before).tensors_host, "keep_outputs"), 5000);
    EXPECT_EQ(held(growth.report(after).tensors_host), 0);
}

TEST(CudaHostTensors, AreGoneAfterAnExec) {
    HostTensorJob job("host-tensors-exec", [](const FakeHostTensors& tensors, const Child::Script& script) {
        const pid_t child = ::fork();
        if (child == 0) {
            make_batch(tensors, 0x2000, 70);
            ::execl("/bin/sleep", "sleep", "1000", nullptr);
            ::_exit(1);
        }
        keep_outputs(tensors, 0x1000, 5000);
        script.say();
        script.wait();
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
    job.next();
    const auto sleeps = [](const Process& process) { return process.task.comm == "sleep"; };
    ASSERT_TRUE(job.watched.tick_until(
        job.job, [&](const TargetSnapshot& target) { return std::ranges::any_of(target.processes, sleeps); }));
    EXPECT_EQ(held(job.growth().tensors_host), 5000);
    job.next();
}

TEST(CudaHostTensors, BeyondTheCapacityAreCountedAsLost) {
    HostTensorJob job("host-tensors-full",
                      [](const FakeHostTensors& tensors, const Child::Script&) {
                          for (std::uint64_t i = 1; i <= 40; ++i) keep_outputs(tensors, 0x1000 * i, 100);
                      },
                      {.host_storages = 16});
    job.next();
    const Growth growth = job.growth();
    const std::int64_t lost = reason_in(growth.tensors_host, "no_room").value_or(0);
    EXPECT_GT(lost, 0);
    EXPECT_EQ(held(growth.tensors_host) + lost, 4000);
    EXPECT_EQ(job.watched.latest().self.dropped.at("host_tensors_full"), static_cast<std::uint64_t>(lost / 100));
}

TEST(CudaHostTensors, ThatAreFreedMakeRoomForOtherStacks) {
    HostTensorJob job("host-tensors-room",
                      [](const FakeHostTensors& tensors, const Child::Script& script) {
                          keep_outputs(tensors, 0x1000, 300);
                          for (std::uint32_t way = 0; way < 240; ++way) {
                              tensors.allocate_along(way, 0x2000, 5000);
                              tensors.free(0x2000);
                              if (way % 16 != 15) continue;
                              script.say();
                              script.wait();
                          }
                      },
                      {.host_storages = 64});
    for (int i = 0; i < 240 / 16; ++i) {
        job.next();
        for (int tick = 0; tick < 3; ++tick) job.watched.tick(job.job);
    }
    job.next();
    const Growth growth = job.growth();
    EXPECT_EQ(held_at(growth.tensors_host, "keep_outputs"), 300);
    EXPECT_EQ(held(growth.tensors_host), 300);
    job.watched.expect_nothing_lost();
}

// The collector makes no room between these calls.
TEST(CudaHostTensors, AtStacksWithoutRoomHaveNoLineAndAreCounted) {
    HostTensorJob job("host-tensors-sites",
                      [](const FakeHostTensors& tensors, const Child::Script&) {
                          for (std::uint32_t way = 0; way < 100; ++way) {
                              tensors.allocate_along(way, 0x2000, 5000);
                              tensors.free(0x2000);
                          }
                          keep_outputs(tensors, 0x1000, 300);
                      },
                      {.host_storages = 64});
    job.next();
    const Growth growth = job.growth();
    EXPECT_EQ(held_at(growth.tensors_host, "keep_outputs"), 0);
    EXPECT_EQ(reason_in(growth.tensors_host, "other"), 300);
    EXPECT_EQ(job.watched.latest().self.dropped.at("host_sites_full"), 100 + 1 - 64U);
}

TEST(CudaHostTensors, AreExactOnKernelsThatAttachOneProbeAtATime) {
    KernelFacts facts = gather_kernel_facts({});
    facts.many_user_probes = false;
    facts.atomic_exchange = false;
    facts.allocates_at_probes = false;
    HostTensorJob job(
        "host-tensors-one-by-one",
        [](const FakeHostTensors& tensors, const Child::Script&) {
            make_batch(tensors, 0x1000, 5000);
            keep_outputs(tensors, 0x2000, 300);
            tensors.free(0x1000);
        },
        {}, facts);
    job.next();
    const Growth growth = job.growth();
    EXPECT_EQ(held_at(growth.tensors_host, "keep_outputs"), 300);
    EXPECT_EQ(held(growth.tensors_host), 300);
}

// Makes so many storages that the probes cost more than a budget of nearly 0.
void make_many_batches(const FakeHostTensors& tensors) {
    for (std::uint64_t i = 1; i <= 2000; ++i) {
        make_batch(tensors, 0x1000 * i, 5000);
        tensors.free(0x1000 * i);
    }
}

TEST(CudaHostTensors, PauseIfTheyCostMoreThanTheirBudgetAndStartAnew) {
    HostTensorJob job("host-tensors-pause",
                      [](const FakeHostTensors& tensors, const Child::Script& script) {
                          for (;;) {
                              make_many_batches(tensors);
                              keep_outputs(tensors, 0x1, 300);
                              script.say();
                              script.wait();
                              tensors.free(0x1);
                          }
                      },
                      {.growth_budget = 1e-6, .growth_window = Seconds{2}});
    // The cost is checked at ticks, so there is no event to wait for.
    const auto runs_until = [&](bool attached) {
        return job.watched.tick_until(job.job, [&](const TargetSnapshot&) {
            if (!attached) job.next();
            return job.watched.has_probe("host_tensors") == attached;
        });
    };
    ASSERT_TRUE(runs_until(false)) << "a budget of nearly 0";
    const Growth paused = job.growth();
    EXPECT_TRUE(paused.tensors_host.sites.empty());
    EXPECT_EQ(reason_in(paused.tensors_host, "paused"), 300);
    ASSERT_TRUE(paused.host_tensors.paused_at_rate);
    EXPECT_GT(*paused.host_tensors.paused_at_rate, 0);
    EXPECT_FALSE(paused.host_tensors.since_seconds);
    job.next();  // replaces the storage at address 1 without a probe
    ASSERT_TRUE(runs_until(true)) << "the probes are attached again";
    const Growth resumed = job.growth();
    EXPECT_EQ(held(resumed.tensors_host), 0) << "storages from before the pause are not known";
    EXPECT_FALSE(reason_in(resumed.tensors_host, "paused"));
}

TEST(CudaHostTensors, FailedAllocationsDuringAPauseExplainADeath) {
    HostTensorJob job("host-tensors-oom-paused",
                      [](const FakeHostTensors& tensors, const Child::Script& script) {
                          for (;;) {
                              make_many_batches(tensors);
                              const pid_t child = ::fork();
                              if (child == 0) {
                                  tensors.fail(std::uint64_t{8} << 30);
                                  ::_exit(1);
                              }
                              ::waitpid(child, nullptr, 0);
                              script.say();
                              script.wait();
                          }
                      },
                      {.growth_budget = 1e-6, .growth_window = Seconds{2}});
    // The probe of failures is attached soon after the others are detached. There is no event to wait for. The first
    // death of a pause may still be explained by the probes from before.
    int explained = 0;
    EXPECT_TRUE(job.watched.tick_until(job.job, [&](const TargetSnapshot& target) {
        if (job.watched.has_probe("host_tensors")) explained = 0;
        for (const Death& death : target.deaths)
            if (death.allocation && death.allocation->tensor == Bytes{std::uint64_t{8} << 30}) ++explained;
        job.next();
        return explained >= 5 && !job.watched.has_probe("host_tensors");
    }));
}

TEST(CudaHostTensors, AreNotRecordedWithoutGrowth) {
    const RealCgroup cgroup("host-tensors-off");
    Watched watched = Watched::with({.cgroups = {cgroup.name()}, .growth = false});
    const Child child(cgroup, [](const Child::Script& script) {
        const FakeHostTensors tensors;
        script.say();
        script.wait();
    });
    child.heard();
    for (int i = 0; i < 5; ++i) watched.tick(cgroup);
    EXPECT_FALSE(watched.has_probe("host_tensors"));
}

TEST(CudaHostTensors, FailedAllocationsExplainADeath) {
    HostTensorJob job("host-tensors-oom", [](const FakeHostTensors& tensors, const Child::Script&) {
        for (const bool later : {false, true}) {
            const pid_t child = ::fork();
            if (child == 0) {
                tensors.fail(std::uint64_t{8} << 30);
                // A later, larger allocation succeeds.
                if (later) tensors.allocate(0x1000, std::uint64_t{9} << 30);
                ::_exit(1);
            }
            ::waitpid(child, nullptr, 0);
        }
    });
    job.next();
    const Death death = only_death(job.watched, job.job);
    EXPECT_EQ(death.cause, DeathCause::alloc_failed);
    ASSERT_TRUE(death.allocation);
    EXPECT_EQ(death.allocation->tensor, Bytes{std::uint64_t{8} << 30});
    EXPECT_TRUE(death.allocation->call.empty());
    EXPECT_NE(death.explanation.find("PyTorch could not allocate 8.0 GiB of host memory"), std::string::npos)
        << death.explanation;
}

}  // namespace host_tensors_test
}  // namespace memscope
