// The map of ranges of the collector, compared with that of the kernel.
#include <atomic>
#include <fcntl.h>
#include <random>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "kernel/followed.h"

namespace memscope {
namespace ranges_test {

constexpr std::size_t kKiB = 1 << 10;

char* map(std::size_t bytes, int access = PROT_READ | PROT_WRITE, int flags = MAP_PRIVATE | MAP_ANONYMOUS,
          void* at = nullptr, int fd = -1) {
    void* const memory = ::mmap(at, bytes, access, flags, fd, 0);
    if (memory == MAP_FAILED) ::_exit(3);
    return static_cast<char*>(memory);
}

// A process that runs one function on command, and the growth that is attributed to it since.
struct Scene {
    explicit Scene(
        const std::function<void()>& act, const std::function<void()>& prepare = [] {})
        : child(job,
                [&](const Child::Script& script) {
                    prepare();
                    script.say();
                    script.wait();
                    act();
                    script.say();
                    script.wait();
                }),
          followed(job) {
        child.heard();
        followed.settle();
        child.go();
        child.heard();
        followed.settle();
    }
    const RangeMap& ranges() const { return followed.ranges(child.pid()); }
    const MappedTotals& totals() const { return ranges().totals(); }

    RealCgroup job{"ranges"};
    Child child;
    Followed followed;
};

TEST(Ranges, OfPrivateMemoryAreGrowthUntilTheyAreUnmapped) {
    const Scene scene([] {
        char* const memory = map(8 * kMiB);
        ::munmap(memory + kMiB, 64 * kKiB);
        ::munmap(memory + 3 * kMiB, 4096);  // small calls also shrink a known range
    });
    EXPECT_EQ(scene.totals().grown().n, 8 * kMiB - 64 * kKiB - 4096);
    EXPECT_EQ(scene.followed.lost(), 0U);
}

TEST(Ranges, ThatAreReservedCountWhenTheyBecomeWritable) {
    const Scene scene([] {
        char* const arena = map(64 * kMiB, PROT_NONE);
        ::mprotect(arena, 132 * kKiB, PROT_READ | PROT_WRITE);
        ::mprotect(arena + 132 * kKiB, 4096, PROT_READ | PROT_WRITE);
    });
    EXPECT_EQ(scene.totals().grown().n, 136 * kKiB);
    EXPECT_EQ(scene.totals().reserved.n, 64 * kMiB - 136 * kKiB);
}

char* arena = nullptr;

TEST(Ranges, ThatWereReservedBeforeAreKnownFromTheProcessesMaps) {
    const Scene scene([] { ::mprotect(arena, 3 * kMiB, PROT_READ | PROT_WRITE); },
                      [] { arena = map(64 * kMiB, PROT_NONE); });
    EXPECT_EQ(scene.totals().grown().n, 3 * kMiB);
    EXPECT_EQ(scene.totals().reserved.n, 61 * kMiB);
}

TEST(Ranges, OfSharedMemoryAreGrowthAndThoseOfFilesAreNot) {
    const Scene scene([] {
        map(2 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
        const int memory = ::memfd_create("ranges", MFD_CLOEXEC);
        if (::ftruncate(memory, 3 * kMiB) != 0) ::_exit(4);
        map(3 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, nullptr, memory);
        map(kMiB, PROT_READ, MAP_SHARED, nullptr, memory);
        map(kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE, nullptr, memory);
        const int program = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        map(kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE, nullptr, program);
        const int zero = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
        map(5 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, nullptr, zero);
        map(7 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE, nullptr, zero);
    });
    ASSERT_EQ(scene.totals().stacks.size(), 1U);
    const MappedAtStack& at = scene.totals().stacks.begin()->second;
    EXPECT_EQ(at.shared.n, 10 * kMiB);
    EXPECT_EQ(at.anonymous.n, 7 * kMiB);
    // The rest: pages that the dynamic loader makes read-only when the program starts (RELRO).
    EXPECT_NEAR(static_cast<double>(scene.totals().unwritable.n % (64 * kMiB)), 1. * kMiB, 64. * 1024);
    EXPECT_GE(scene.totals().file.n, 2 * kMiB);
}

TEST(Ranges, OfSystemVAreGrowthUntilTheyAreDetached) {
    const auto attach = [](std::size_t bytes) {
        const int id = ::shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
        void* const memory = ::shmat(id, nullptr, 0);
        ::shmctl(id, IPC_RMID, nullptr);
        return memory;
    };
    const Scene scene([&] {
        attach(3 * kMiB);
        ::shmdt(attach(5 * kMiB));
        ::shmdt(reinterpret_cast<void*>(4096));  // fails
    });
    EXPECT_EQ(scene.totals().grown().n, 3 * kMiB);
}

TEST(Ranges, ThatAreMovedKeepTheirStack) {
    const Scene scene([] {
        char* const memory = map(2 * kMiB);
        char* const grown = static_cast<char*>(::mremap(memory, 2 * kMiB, 32 * kMiB, MREMAP_MAYMOVE));
        ::mremap(grown, 32 * kMiB, 16 * kMiB, 0);
        char* const place = map(16 * kMiB, PROT_NONE);
        ::mremap(grown, 16 * kMiB, 16 * kMiB, MREMAP_MAYMOVE | MREMAP_FIXED, place);
        ::mremap(place, 4 * kMiB, 8 * kMiB, 0);  // fails: the range cannot grow in place
        ::mremap(place, 4 * kMiB, 4 * kMiB, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    });
    EXPECT_EQ(scene.totals().grown().n, 20 * kMiB);
    EXPECT_EQ(scene.totals().reserved.n, 0U);
}

TEST(Ranges, OfTheBrkHeapAreGrowth) {
    const Scene scene([] {
        char* const end = static_cast<char*>(::sbrk(0));
        if (::brk(end + 5 * kMiB) != 0 || ::brk(end + 2 * kMiB) != 0) ::_exit(5);
    });
    EXPECT_EQ(scene.totals().grown().n, 2 * kMiB);
}

TEST(Ranges, StayUnchangedByCallsThatFail) {
    const Scene scene([] {
        char* const memory = map(4 * kMiB);
        ::munmap(memory + 1, kMiB);
        ::munmap(memory, 0);
        ::mremap(memory, kMiB, std::size_t{1} << 46, MREMAP_MAYMOVE);
        map(4 * kMiB);
        ::mprotect(memory + 1, kMiB, PROT_NONE);
    });
    EXPECT_EQ(scene.totals().grown().n, 8 * kMiB);
}

TEST(Ranges, EndWithAnExecAndWithAnExit) {
    const RealCgroup job("ranges");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        map(64 * kMiB);
        if (::fork() == 0) {
            map(16 * kMiB);
            ::execl("/bin/sleep", "sleep", "1000", nullptr);
        }
        if (::vfork() == 0) {
            ::execl("/bin/sleep", "sleep", "1000", nullptr);
            ::_exit(1);
        }
        const pid_t heir = ::fork();
        if (heir == 0) {
            map(2 * kMiB);
            for (;;) ::pause();
        }
        ::usleep(300'000);
        script.say(std::to_string(heir));
        script.wait();
    });
    child.heard();
    Followed followed(job);
    followed.settle();
    child.go();
    const pid_t heir = std::stoi(child.heard());
    followed.settle();
    EXPECT_EQ(followed.ranges(child.pid()).totals().grown().n, 64 * kMiB);
    EXPECT_EQ(followed.ranges(heir).totals().grown().n, 2 * kMiB);  // inherited memory counts for the parent
    std::size_t processes = 0;
    followed.growth().visit([&](const MappedGrowth::Process& process) {
        ++processes;
        if (process.id.pid == child.pid() || process.id.pid == heir) return;
        EXPECT_LE(process.ranges.totals().grown().n, kMiB) << "sleep";
    });
    EXPECT_EQ(processes, 4U);
    ::kill(heir, SIGKILL);
    child.kill();
    for (int i = 0; i < 50 && (followed.knows(child.pid()) || followed.knows(heir)); ++i) {
        ::usleep(20'000);
        followed.round();
    }
    EXPECT_FALSE(followed.knows(child.pid()));
    EXPECT_FALSE(followed.knows(heir));
    EXPECT_EQ(followed.lost(), 0U);
}

}  // namespace ranges_test
}  // namespace memscope
