// Mapped minus unmapped is the virtual size of the living processes at every tick.
#include <atomic>
#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "kernel/watched.h"

namespace memscope {
namespace mappings_test {

Mappings mappings_in(const TargetSnapshot& target) {
    Mappings sum;
    for (const auto& [key, counters] : target.counters)
        if (counters.mappings) sum += *counters.mappings;
    return sum;
}

Bytes virtual_size(const TargetSnapshot& target) {
    Bytes sum;
    for (const Process& process : target.processes)
        if (process.task.memory) sum += process.task.memory->virtual_size;
    return sum;
}

void expect_balance(const TargetSnapshot& target) {
    EXPECT_EQ(mappings_in(target).outstanding().n, virtual_size(target).n);
}

void* map(std::size_t bytes, int flags = 0, void* at = nullptr) {
    return ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

// Each call that changes the size of an address space, once.
void do_it_all() {
    char* a = static_cast<char*>(map(8 * kMiB));
    map(2 * kMiB, MAP_FIXED, a + kMiB);      // over a mapping: no change in size
    ::munmap(a + 3 * kMiB, kMiB);            // a hole
    map(2 * kMiB, MAP_FIXED, a + 3 * kMiB);  // over half a hole
    ::mprotect(a, kMiB, PROT_NONE);
    a = static_cast<char*>(::mremap(a, 4096, 2 * kMiB, MREMAP_MAYMOVE));
    ::mremap(a, 2 * kMiB, 4096, 0);
    ::munmap(a, 4096);
    ::munmap(reinterpret_cast<void*>(1), kMiB);  // fails
    map(std::size_t{1} << 46);                   // fails
    const int id = ::shmget(IPC_PRIVATE, kMiB, IPC_CREAT | 0600);
    void* shared = ::shmat(id, nullptr, 0);
    ::shmctl(id, IPC_RMID, nullptr);
    ::shmdt(shared);
    if (const pid_t child = ::fork(); child == 0) {
        map(3 * kMiB);
        ::execl("/bin/true", "true", nullptr);
    } else {
        ::waitpid(child, nullptr, 0);
    }
    if (const pid_t child = ::vfork(); child == 0) {
        ::execl("/bin/true", "true", nullptr);
        ::_exit(1);
    } else {
        ::waitpid(child, nullptr, 0);
    }
}

// Four threads that run the function until they are stopped.
void repeat(const Child::Script& script, void (*it)()) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            while (!stop) it();
        });
    script.say();
    script.wait();
    stop = true;
    for (auto& thread : threads) thread.join();
    script.say();
    script.wait();
}

TEST(MappedBytes, EqualTheVirtualSizeOfTheLivingAtEveryTick) {
    const RealCgroup job("balance");
    Child child(job, [](const Child::Script& script) { repeat(script, do_it_all); });
    child.heard();
    Watched watched({job.name()});
    for (int i = 0; i < 60; ++i) expect_balance(watched.tick(job));
    child.go();
    child.heard();
    const TargetSnapshot& quiet = watched.tick(job);
    expect_balance(quiet);
    EXPECT_EQ(virtual_size(quiet).n, status_number(child.pid(), "VmSize") * 1024);
    child.finish();
    const TargetSnapshot& empty = watched.tick(job);
    EXPECT_EQ(mappings_in(empty).outstanding(), Bytes{0});
    watched.expect_nothing_lost();
}

// Without atomic exchange, threads that count at the same time can count the same pages twice and correct that later.
// The sum can be negative for a moment if they map far more than they keep.
TEST(MappedBytes, BalanceInTheEndWithoutAtomicExchange) {
    const RealCgroup job("plain-balance");
    Child child(job, [](const Child::Script& script) {
        repeat(script, [] {
            constexpr std::size_t kMuch = 4096 * kMiB;
            ::munmap(map(kMuch, MAP_NORESERVE), kMuch);
        });
    });
    child.heard();
    KernelFacts facts = gather_kernel_facts({});
    facts.atomic_exchange = false;
    Watched watched = Watched::on(facts, {.cgroups = {job.name()}, .growth = false});
    constexpr Bytes kMoreThanCanBe{std::uint64_t{1} << 60};  // a size that no process can map in that time
    for (int i = 0; i < 30; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const Mappings seen = mappings_in(watched.tick(job));
        for (const Bytes bytes : seen.mapped) ASSERT_LT(bytes, kMoreThanCanBe) << "tick " << i;
        for (const Bytes bytes : seen.unmapped) ASSERT_LT(bytes, kMoreThanCanBe) << "tick " << i;
    }
    EXPECT_GT(mappings_in(watched.tick(job)).unmapped[MS_UNMAPPED_MUNMAP].n, 0U);
    child.go();
    child.heard();
    expect_balance(watched.tick(job));
    child.finish();
    EXPECT_EQ(mappings_in(watched.tick(job)).summed(), Mappings{});
    watched.expect_nothing_lost();
}

TEST(MappedBytes, AreCountedByTheCallThatMadeThem) {
    const RealCgroup job("shared-calls");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        for (int i = 0; i < 100; ++i) ::munmap(map(kMiB), kMiB);
        void* grown = ::mremap(map(kMiB), kMiB, 4 * kMiB, MREMAP_MAYMOVE);
        ::mremap(grown, 4 * kMiB, kMiB, 0);
        void* const end = ::sbrk(0);
        [[maybe_unused]] const int up = ::brk(static_cast<char*>(end) + 5 * kMiB);
        [[maybe_unused]] const int down = ::brk(end);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched = Watched::shared();
    const Mappings before = mappings_in(watched.tick(job));
    child.go();
    child.heard();
    const Mappings rise = mappings_in(watched.tick(job)) - before;
    EXPECT_EQ(rise.mapped[MS_MAPPED_MMAP].n, 101 * kMiB);
    EXPECT_EQ(rise.unmapped[MS_UNMAPPED_MUNMAP].n, 100 * kMiB);
    EXPECT_EQ(rise.mapped[MS_MAPPED_MREMAP].n, 3 * kMiB);
    EXPECT_EQ(rise.unmapped[MS_UNMAPPED_MREMAP].n, 3 * kMiB);
    EXPECT_EQ(rise.mapped[MS_MAPPED_BRK].n, 5 * kMiB);
    EXPECT_EQ(rise.unmapped[MS_UNMAPPED_BRK].n, 5 * kMiB);
    expect_balance(*watched.find(job));
}

TEST(MappedBytes, CallsThatFailMapNothingAndAreCountedAsFailures) {
    const RealCgroup job("shared-failures");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        for (int i = 0; i < 10; ++i) map(std::size_t{1} << 46);
        for (int i = 0; i < 7; ++i) ::munmap(reinterpret_cast<void*>(1), kMiB);
        rlimit data{};
        ::getrlimit(RLIMIT_DATA, &data);
        const rlimit none{.rlim_cur = kMiB, .rlim_max = data.rlim_max};
        ::setrlimit(RLIMIT_DATA, &none);
        void* const end = ::sbrk(0);
        for (int i = 0; i < 5; ++i) [[maybe_unused]]
            const int failed = ::brk(static_cast<char*>(end) + 512 * kMiB);
        ::setrlimit(RLIMIT_DATA, &data);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched = Watched::shared();
    const Mappings before = mappings_in(watched.tick(job));
    child.go();
    child.heard();
    const Mappings rise = mappings_in(watched.tick(job)) - before;
    EXPECT_EQ(rise.failures[MS_FAILED_MMAP][MS_REASON_ENOMEM], 10U);
    EXPECT_EQ(rise.failures[MS_FAILED_BRK][MS_REASON_ENOMEM], 5U);
    EXPECT_EQ(rise.mapped[MS_MAPPED_MMAP].n, 0U);
    EXPECT_EQ(rise.unmapped[MS_UNMAPPED_MUNMAP].n, 0U);
}

TEST(MappedBytes, AFullTmpfsIsAFailureOfFallocate) {
    const RealCgroup job("fallocate");
    Child child(job, [](const Child::Script& script) {
        // A file system of 1 MiB that no other process sees.
        const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             ::mount("none", "/mnt", "tmpfs", 0, "size=1m") == 0;
        const int fd = mounted ? ::open("/mnt/full", O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;
        script.say(fd >= 0 ? "ready" : "cannot mount");
        script.wait();
        [[maybe_unused]] const int failed = ::fallocate(fd, 0, 0, 4 * kMiB);
        script.say();
        script.wait();
    });
    ASSERT_EQ(child.heard(), "ready");
    Watched watched({job.name()});
    const Mappings before = mappings_in(watched.tick(job));
    child.go();
    child.heard();
    const Mappings rise = mappings_in(watched.tick(job)) - before;
    EXPECT_EQ(rise.failures[MS_FAILED_FALLOCATE][MS_REASON_ENOSPC], 1U);
}

TEST(MappedBytes, MoveWithAProcessToAnotherTarget) {
    const RealCgroup one("one");
    const RealCgroup two("other");
    Child child(one, [](const Child::Script& script) {
        map(64 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched({one.name(), two.name()});
    expect_balance(watched.tick(one));
    two.enter(child.pid());
    const TargetSnapshot& now = watched.tick(two);
    expect_balance(now);
    expect_balance(*watched.find(one));
    EXPECT_GE(mappings_in(now).outstanding().n, 64 * kMiB);
    EXPECT_EQ(mappings_in(*watched.find(one)).outstanding().n, 0U);
}

}  // namespace mappings_test
}  // namespace memscope
