// The figures of a process compared with those of the kernel.
#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

#include "kernel/watched.h"
#include <memscope/shared/wire.h>

namespace memscope {
namespace exact_test {

std::size_t rollup(pid_t pid, const std::string& key) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
    throw std::runtime_error("no " + key);
}

TEST(Exact, ResidentPagesOfAProcessWhoseThreadsRanOnEveryCpu) {
    const RealCgroup job("shared-exact");
    Child child(job, [](const Child::Script& script) {
        // Threads on all CPUs leave parts in the per-CPU counters that are no multiple of the batch.
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([i] {
                cpu_set_t cpus;
                CPU_ZERO(&cpus);
                CPU_SET(i % static_cast<int>(std::thread::hardware_concurrency()), &cpus);
                ::pthread_setaffinity_np(::pthread_self(), sizeof cpus, &cpus);
                for (int n = 0; n < 37 + i; ++n) touch(4096 * (1 + n % 3));
            });
        for (auto& thread : threads) thread.join();
        void* shared = ::mmap(nullptr, 3 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        std::memset(shared, 1, 3 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched = Watched::shared();
    const Process* process = Watched::process(watched.tick(job), child.pid());
    ASSERT_TRUE(process);
    ASSERT_TRUE(process->task.memory);
    const AddressSpace& memory = *process->task.memory;
    // smaps_rollup walks the page tables, so it is exact on every kernel. It counts shared memory separately.
    EXPECT_EQ(memory.anon.n, rollup(child.pid(), "Anonymous"));
    EXPECT_EQ(memory.anon.n + memory.file.n + memory.shmem.n, rollup(child.pid(), "Rss"));
    EXPECT_EQ(memory.shmem.n, 3 * kMiB);
    EXPECT_EQ(memory.virtual_size.n, status_number(child.pid(), "VmSize") * 1024);
    EXPECT_EQ(memory.page_tables.n, status_number(child.pid(), "VmPTE") * 1024);
    EXPECT_EQ(memory.swap.n, status_number(child.pid(), "VmSwap") * 1024);
    EXPECT_EQ(process->task.threads, 1U);
    EXPECT_EQ(process->task.parent, ::getpid());
    watched.expect_nothing_lost();
}

TEST(Exact, MemoryOfAProcessWhoseFirstThreadHasExited) {
    const RealCgroup job("shared-leaderless");
    Child child(job, [](const Child::Script& script) {
        touch(20 * kMiB);
        std::thread([&script] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            script.say();
            script.wait();
            ::_exit(0);
        }).detach();
        ::syscall(SYS_exit, 0);  // ends only this thread; its stack stays mapped
    });
    child.heard();
    ASSERT_EQ(::access(("/proc/" + std::to_string(child.pid()) + "/exe").c_str(), F_OK), -1) << "the leader lives";
    Watched watched = Watched::shared();
    const Process* process = Watched::process(watched.tick(job), child.pid());
    ASSERT_TRUE(process);
    ASSERT_TRUE(process->task.memory);
    EXPECT_GE(process->task.memory->anon.n, 20 * kMiB);
    EXPECT_EQ(child.finish(), 0);
    EXPECT_TRUE(watched.tick(job).processes.empty());
    watched.expect_nothing_lost();
}

TEST(Exact, AVforkChildDoesNotCountItsParentsMemoryAgain) {
    const RealCgroup job("vfork");
    Child child(job, [](const Child::Script& script) {
        touch(20 * kMiB);
        if (::vfork() == 0) {
            script.say();
            script.wait();
            ::_exit(0);
        }
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched({job.name()});
    const TargetSnapshot& target = watched.tick(job);
    ASSERT_EQ(target.processes.size(), 2U);
    for (const Process& process : target.processes) {
        const bool parent = process.task.id.pid == child.pid();
        EXPECT_EQ(process.task.memory.has_value(), parent) << process.task.id.pid;
        if (!parent) {
            EXPECT_NE(process.role, Role::dataloader_worker);
        }
    }
    child.go();
    child.heard();
}

TEST(Exact, FaultsOfAllThreadsAndOfThoseThatAreGone) {
    const RealCgroup job("shared-faults");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        std::thread([] { touch(1000 * 4096); }).join();  // it has exited before the scan
        std::thread stays([&] {
            touch(500 * 4096);
            script.say();
            script.wait();
            script.say();
        });
        stays.join();
        script.wait();
    });
    child.heard();
    Watched watched = Watched::shared();
    const auto before = Watched::counters(watched.tick(job)).faults.minor;
    child.go();
    child.heard();
    const TargetSnapshot& target = watched.tick(job);
    const auto rise = Watched::counters(target).faults.minor - before;
    EXPECT_GE(rise, 1500U);
    EXPECT_LT(rise, 1500U + 300U);  // stacks, heaps and code of two threads
    EXPECT_EQ(Watched::process(target, child.pid())->task.threads, 2U);
    child.go();
    child.heard();
}

TEST(Exact, FaultsOfMoreThreadsThanAScanVisitsAreCountedInTurns) {
    const RealCgroup job("turns");
    Child crowd(job, [](const Child::Script& script) {
        std::vector<std::thread> threads;
        for (int i = 0; i < MS_SCAN_THREADS; ++i) threads.emplace_back([] { ::pause(); });
        script.say();
        script.wait();
        ::_exit(0);
    });
    crowd.heard();
    Child child(job, [](const Child::Script& script) {
        std::thread([&script] {
            script.say();
            script.wait();
            touch(500 * 4096);
            script.say();
            script.wait();
        }).join();
    });
    child.heard();
    Watched watched({job.name()});
    // After two ticks the threads of both processes were visited, so their earlier faults are known.
    for (int i = 0; i < 2; ++i) watched.tick(job);
    const auto before = Watched::counters(watched.latest().targets.front()).faults.minor;
    child.go();
    child.heard();
    for (int i = 0; i < 2; ++i) watched.tick(job);
    const auto rise = Watched::counters(watched.latest().targets.front()).faults.minor - before;
    EXPECT_GE(rise, 500U);
    EXPECT_LT(rise, 500U + 100U);
    EXPECT_EQ(child.finish(), 0);
    EXPECT_EQ(crowd.finish(), 0);
    watched.tick(job);
    watched.expect_nothing_lost();
}

TEST(Exact, FaultsOfAProcessThatNoScanSawAliveAreCounted) {
    const RealCgroup job("unseen");
    Watched watched({job.name()});
    watched.tick(job);
    {
        Child child(job, [](const Child::Script& script) {
            script.wait();
            touch(2000 * 4096);
        });
        EXPECT_EQ(child.finish(), 0);
    }
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_TRUE(target.processes.empty());
    EXPECT_GE(Watched::counters(target).faults.minor, 2000U);
    EXPECT_GE(Watched::counters(watched.tick(job)).faults.minor, 2000U);
}

}  // namespace exact_test
}  // namespace memscope
