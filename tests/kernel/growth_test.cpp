// Growth of anonymous memory: attributed and unattributed growth add up to the real growth.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <numeric>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/text.h"
#include "kernel/plan.h"
#include "kernel/session.h"
#include "kernel/watched.h"
#include "support/few_descriptors.h"

namespace memscope {
namespace {

constexpr std::size_t kMiB = 1 << 20;

void* map(std::size_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// If a function without a frame pointer, such as memset(), touches a page, its caller is missing in the stack.
[[gnu::always_inline]] inline void touch_all(void* memory, std::size_t bytes) {
    auto* at = static_cast<volatile char*>(memory);
    for (std::size_t i = 0; i < bytes; i += 4096) at[i] = 1;
}

void run_on_cpu(std::size_t number) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number % std::thread::hardware_concurrency(), &set);
    (void)::sched_setaffinity(0, sizeof set, &set);  // fails if the CPU is not allowed here
}

// Processes that are not watched and that fault in a page each, again and again, on all CPUs.
class OtherProcesses {
  public:
    OtherProcesses(std::size_t count, std::chrono::milliseconds every) {
        for (std::size_t i = 0; i < count; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) fault_forever(i, every);
            pids_.push_back(pid);
        }
    }
    ~OtherProcesses() {
        for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
        for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    }
    OtherProcesses(const OtherProcesses&) = delete;
    OtherProcesses& operator=(const OtherProcesses&) = delete;

  private:
    [[noreturn]] static void fault_forever(std::size_t number, std::chrono::milliseconds every) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_on_cpu(number);
        void* memory = map(4096);
        for (;;) {
            touch_all(memory, 4096);
            ::madvise(memory, 4096, MADV_DONTNEED);
            std::this_thread::sleep_for(every);
        }
    }
    std::vector<pid_t> pids_{};
};

}  // namespace

// Functions that the tests find by name. The program exports them, because the stripped program in the guests of
// tests/vm has no other symbols.
extern "C" {

[[gnu::noinline]] void grow_here(std::size_t bytes) {
    void* memory = map(bytes);
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    touch_all(memory, bytes);
}

[[gnu::noinline]] void grow_in_huge_pages(std::size_t bytes) {
    auto* memory = static_cast<char*>(map(bytes + 2 * kMiB));
    memory += -reinterpret_cast<std::uintptr_t>(memory) & (2 * kMiB - 1);
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    touch_all(memory, bytes);
}

// Each page on another CPU than the one before, and after a pause.
[[gnu::noinline]] void grow_in_scattered_huge_pages(std::size_t bytes, std::chrono::milliseconds pause) {
    auto* memory = static_cast<char*>(map(bytes + 2 * kMiB));
    memory += -reinterpret_cast<std::uintptr_t>(memory) & (2 * kMiB - 1);
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    for (std::size_t done = 0; done < bytes; done += 2 * kMiB) {
        run_on_cpu(done / (2 * kMiB));
        touch_all(memory + done, 2 * kMiB);
        std::this_thread::sleep_for(pause);
    }
}

// A function of the C library without a frame pointer makes the call, so its caller is missing in the stack.
[[gnu::noinline]] void* map_inside(std::size_t bytes) { return map(bytes); }
[[gnu::noinline]] void* map_here(std::size_t bytes) {
    void* memory = map_inside(bytes);
    asm volatile("" ::"r"(memory) : "memory");  // no tail call: the frame stays
    return memory;
}

}  // extern "C"

namespace {

std::int64_t sum(const GrowthPlane& plane) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites) bytes += site.bytes;
    for (const UnattributedGrowth& other : plane.unattributed) bytes += other.bytes;
    return bytes;
}

// Growth at stacks that contain the function.
std::int64_t at(const GrowthPlane& plane, const std::string& function) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites)
        for (const NativeFrame& frame : site.native)
            if (frame.symbol.find(function) != std::string::npos) {
                bytes += site.bytes;
                break;
            }
    return bytes;
}

std::int64_t at_sites(const GrowthPlane& plane) {
    std::int64_t bytes = 0;
    for (const GrowthSite& site : plane.sites) bytes += site.bytes;
    return bytes;
}

std::int64_t reason(const GrowthPlane& plane, const std::string& word) {
    for (const UnattributedGrowth& other : plane.unattributed)
        if (other.reason == word) return other.bytes;
    return 0;
}

std::int64_t anon(const TargetSnapshot& target) {
    std::int64_t bytes = 0;
    for (const Process& process : target.processes)
        if (process.task.memory) bytes += static_cast<std::int64_t>(process.task.memory->anon.n);
    return bytes;
}

void expect_about(std::int64_t got, std::int64_t wanted) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(wanted), 0.02 * static_cast<double>(std::abs(wanted)));
}

// Resident growth is sampled.
void expect_sampled(std::int64_t got, std::int64_t wanted) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(wanted), 0.1 * static_cast<double>(std::abs(wanted)));
}

// Ticks whenever the kernel has sent events, until `done` is true of the target. False after a minute without it.
template <class Done>
bool ticks_until(Watched& watched, const RealCgroup& job, Done done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done(watched.tick(job))) {
        if (std::chrono::steady_clock::now() >= give_up) return false;
        pollfd events{.fd = watched.collector().events_fd(), .events = POLLIN, .revents = 0};
        ::poll(&events, 1, 100);  // ms; a scan finds some changes without an event
    }
    return true;
}

// Helper processes read what names the stacks: on a busy machine some ticks later.
bool is_named(const Growth& growth) {
    return reason(growth.resident, "pending") + reason(growth.mapped, "pending") == 0;
}

// One child that waits, then does it, then waits again.
struct Grown {
    using Watch = std::function<Watched(const RealCgroup&)>;
    template <class Do>
    explicit Grown(
        const char* name, Do what, const Watch& watch = [](const RealCgroup&) { return Watched::shared(); })
        : job(name),
          child(job,
                [what](const Child::Script& script) {
                    script.say();
                    script.wait();
                    what();
                    script.say();
                    script.wait();
                }),
          watched(watch(job)) {
        child.heard();
        before = anon(watched.tick(job));
        child.go();
        child.heard();
        const bool named = ticks_until(watched, job, [this](const TargetSnapshot& target) {
            change = anon(target) - before;
            growth = watched.collector().growth()->report(target);
            return is_named(growth);
        });
        EXPECT_TRUE(named);
        watched.expect_nothing_lost();
        watched.expect_all_named();
    }

    const RealCgroup job;
    Child child;
    Watched watched;
    std::int64_t before = 0;
    std::int64_t change = 0;
    Growth growth{};
};

TEST(ResidentGrowth, StandsAtTheFunctionThatTouchedThePages) {
    const Grown grown("shared-growth-small", [] { grow_here(32 * kMiB); });
    expect_sampled(at(grown.growth.resident, "grow_here"), 32 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, CountsAHugePageAsWhatItHolds) {
    const Grown grown("shared-growth-huge", [] { grow_in_huge_pages(64 * kMiB); });
    expect_sampled(at(grown.growth.resident, "grow_in_huge_pages"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

// The other processes take the place of the job in what each CPU remembers of the last page fault.
TEST(ResidentGrowth, CountsAHugePageAsWhatItHoldsOnABusyMachine) {
    const OtherProcesses others(192, std::chrono::milliseconds(40));
    const Grown grown("shared-growth-scattered",
                      [] { grow_in_scattered_huge_pages(64 * kMiB, std::chrono::milliseconds(100)); });
    expect_sampled(at(grown.growth.resident, "grow_in_scattered_huge_pages"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, OfThreadsIsThatOfTheirProcess) {
    const Grown grown("shared-growth-threads", [] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([] { grow_here(16 * kMiB); });
        for (std::thread& thread : threads) thread.join();
    });
    expect_sampled(at(grown.growth.resident, "grow_here"), 128 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, IsNetOfWhatWasGivenBack) {
    const Grown grown("shared-growth-back", [] {
        for (int i = 0; i < 10; ++i) {
            void* memory = map(32 * kMiB);
            std::memset(memory, 1, 32 * kMiB);
            ::munmap(memory, 32 * kMiB);
        }
        grow_here(64 * kMiB);
    });
    expect_sampled(at(grown.growth.resident, "grow_here"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, OfAForkedChildIsWhatItGrewAfterTheFork) {
    const Grown grown("shared-growth-fork", [] {
        int grown_pipe[2];
        if (::pipe(grown_pipe) != 0) ::_exit(9);
        grow_here(32 * kMiB);
        if (::fork() == 0) {
            grow_here(48 * kMiB);
            if (::write(grown_pipe[1], "g", 1) != 1) ::_exit(9);
            ::pause();
        }
        char byte = 0;
        if (::read(grown_pipe[0], &byte, 1) != 1) ::_exit(9);
    });
    expect_sampled(at(grown.growth.resident, "grow_here"), 80 * kMiB);
    EXPECT_EQ(grown.growth.resident.sites.front().pids.size(), 2U);
}

TEST(ResidentGrowth, OfAProcessThatWasMovedInIsFollowed) {
    const RealCgroup job("growth-moved");
    const RealCgroup elsewhere("growth-elsewhere");
    Watched watched({job.name()});  // before the fork
    watched.tick(job);
    Child child(elsewhere, [](const Child::Script& script) {
        script.say();
        script.wait();
        grow_here(64 * kMiB);
        (void)map_here(64 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    job.enter(child.pid());
    watched.tick(job);
    watched.tick(job);
    child.go();
    child.heard();
    Growth growth;
    EXPECT_TRUE(ticks_until(watched, job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return is_named(growth);
    }));
    expect_sampled(at(growth.resident, "grow_here"), 64 * kMiB);
    expect_about(at(growth.mapped, "map_here"), 64 * kMiB);
}

// A child that grows by 40 MiB, waits for a tick, and then runs its last step.
struct GrownUntil {
    GrownUntil(const char* name, const std::function<void()>& last)
        : job(name), child(job, [&last](const Child::Script& script) {
              script.say();
              script.wait();
              grow_here(40 * kMiB);
              script.say();
              script.wait();
              last();
          }) {
        child.heard();
        watched.tick(job);
        child.go();
        child.heard();
        grown = watched.tick(job);
        child.go();
    }
    Growth report(const TargetSnapshot& target) { return watched.collector().growth()->report(target); }

    const RealCgroup job;
    Child child;
    Watched watched{{job.name()}};
    TargetSnapshot grown{};  // at the tick before the last step
};

// The report of a death asks for the target as it was.
TEST(ResidentGrowth, OfADeadProcessIsKnownForTheReportOfItsDeath) {
    GrownUntil dead("growth-dead", [] { ::_exit(0); });
    ASSERT_TRUE(ticks_until(dead.watched, dead.job, [](const TargetSnapshot& now) { return now.processes.empty(); }));
    const Growth growth = dead.report(dead.grown);
    expect_sampled(at(growth.resident, "grow_here"), 40 * kMiB);
    ASSERT_FALSE(growth.resident.sites.empty());
    EXPECT_EQ(growth.resident.sites.front().pids, std::vector<pid_t>{dead.child.pid()});
    EXPECT_TRUE(dead.report(*dead.watched.find(dead.job)).resident.sites.empty()) << "it holds nothing any more";
    dead.watched.expect_nothing_lost();
    dead.watched.expect_all_named();
}

TEST(ResidentGrowth, BeginsAnewWithAnotherProgram) {
    GrownUntil replaced("growth-exec", [] { ::execl("/bin/sleep", "sleep", "30", nullptr); });
    EXPECT_TRUE(ticks_until(replaced.watched, replaced.job, [&](const TargetSnapshot& now) {
        return !now.processes.empty() && at(replaced.report(now).resident, "grow_here") == 0;
    }));
}

TEST(ResidentGrowth, MadeByAnotherProcessHasNoAddress) {
    const RealCgroup job("growth-external");
    const Child child(job, [](const Child::Script& script) {
        script.say(std::to_string(reinterpret_cast<std::uintptr_t>(map(32 * kMiB))));
        grow_here(4 * kMiB);  // from here on it has an entry
        script.wait();
    });
    const auto address = std::stoull(child.heard());
    Watched watched({job.name()});
    const std::int64_t before = anon(watched.tick(job));
    std::vector<char> bytes(32 * kMiB, 1);
    const iovec from{bytes.data(), bytes.size()};
    const iovec to{reinterpret_cast<void*>(address), bytes.size()};
    ASSERT_EQ(::process_vm_writev(child.pid(), &from, 1, &to, 1, 0), static_cast<ssize_t>(bytes.size()));
    const TargetSnapshot& target = watched.tick(job);
    const Growth growth = watched.collector().growth()->report(target);
    expect_about(reason(growth.resident, "no_address"), 32 * kMiB);
    expect_about(sum(growth.resident), anon(target) - before);
}

// A system where perf events need CAP_SYS_ADMIN.
TEST(ResidentGrowth, IsNetAtItsStackWithoutEventsOfPageFaults) {
    KernelFacts facts = gather_kernel_facts({});
    facts.fault_events = false;
    const Grown grown(
        "growth-net", [] { grow_here(128 * kMiB); },
        [&facts](const RealCgroup& job) { return Watched::on(facts, {.cgroups = {job.name()}}); });
    EXPECT_EQ(grown.growth.resident_method, ResidentMethod::first_touch);
    expect_about(at(grown.growth.resident, "grow_here"), 128 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, IsNotKnownWithoutMappings) {
    const Grown grown(
        "growth-no-maps", [] { grow_here(16 * kMiB); },
        [](const RealCgroup& job) {
            return Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}, .maps = false});
        });
    EXPECT_EQ(grown.growth.resident_method, ResidentMethod::none);
    EXPECT_TRUE(grown.growth.resident.sites.empty());
}

}  // namespace

extern "C" {

[[gnu::noinline]] void keep_here(char* memory, std::size_t bytes) { touch_all(memory, bytes); }
[[gnu::noinline]] void pass_by(char* memory, std::size_t bytes) { touch_all(memory, bytes); }

}  // extern "C"

namespace {

// Net changes would see nothing: the number of pages falls and rises by far more than what is kept.
TEST(ResidentGrowth, IsSeenBelowMemoryThatComesAndGoes) {
    constexpr std::size_t kRounds = 3968;
    const Grown grown("shared-growth-below", [] {
        auto* kept = static_cast<char*>(map(kRounds * 4 * 4096));
        ::madvise(kept, kRounds * 4 * 4096, MADV_NOHUGEPAGE);
        for (std::size_t round = 0; round < kRounds; ++round) {
            auto* passing = static_cast<char*>(map(200 * 4096));
            pass_by(passing, 200 * 4096);
            keep_here(kept + round * 4 * 4096, 4 * 4096);
            ::munmap(passing, 200 * 4096);
        }
    });
    // 124 samples of many more: the error of such a sum is 1/sqrt(samples).
    EXPECT_NEAR(static_cast<double>(at(grown.growth.resident, "keep_here")), 62.0 * kMiB,
                3 / std::sqrt(124) * 62 * kMiB);
    EXPECT_LT(at(grown.growth.resident, "pass_by"), static_cast<std::int64_t>(4 * kMiB));
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, AtAddressesThatAreUsedAgainIsNotAddedUp) {
    const Grown grown("shared-growth-again", [] {
        for (int round = 0; round < 300; ++round) {
            auto* memory = static_cast<char*>(map(8 * kMiB));
            pass_by(memory, 8 * kMiB);
            ::munmap(memory, 8 * kMiB);
        }
        grow_here(32 * kMiB);
    });
    expect_sampled(at(grown.growth.resident, "grow_here"), 32 * kMiB);
    EXPECT_LT(at(grown.growth.resident, "pass_by"), static_cast<std::int64_t>(8 * kMiB));
}

TEST(ResidentGrowth, MovesWithTheRangeAndEndsWithWhatIsGivenBack) {
    const Grown grown("shared-growth-moves", [] {
        std::size_t bytes = 8 * kMiB;
        auto* memory = static_cast<char*>(map(bytes));
        ::madvise(memory, bytes, MADV_NOHUGEPAGE);
        keep_here(memory, bytes);
        for (int i = 0; i < 3; ++i, bytes *= 2) {
            (void)map(4096);  // so that it cannot grow in place
            memory = static_cast<char*>(::mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE));
            ::madvise(memory, 2 * bytes, MADV_NOHUGEPAGE);
            keep_here(memory + bytes, bytes);
        }
        ::madvise(memory, 16 * kMiB, MADV_DONTNEED);
    });
    expect_sampled(at(grown.growth.resident, "keep_here"), 48 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, DoesNotCountCopiesOfInheritedPages) {
    const Grown grown("shared-growth-copies", [] {
        auto* memory = static_cast<char*>(map(64 * kMiB));
        ::madvise(memory, 64 * kMiB, MADV_NOHUGEPAGE);
        keep_here(memory, 64 * kMiB);
        int written[2];
        if (::pipe(written) != 0) ::_exit(9);
        if (::fork() == 0) {
            pass_by(memory, 64 * kMiB);
            if (::write(written[1], "g", 1) != 1) ::_exit(9);
            ::pause();
        }
        char byte = 0;
        if (::read(written[0], &byte, 1) != 1) ::_exit(9);
    });
    EXPECT_TRUE(grown.growth.pages_checked) << "an answer checks the pages first";
    expect_sampled(at(grown.growth.resident, "keep_here"), 64 * kMiB);
    EXPECT_LT(at(grown.growth.resident, "pass_by"), static_cast<std::int64_t>(4 * kMiB));
}

TEST(ResidentGrowth, ThatTheKernelPopulatedHasNoAddress) {
    const Grown grown("shared-growth-populated", [] {
        (void)::mmap(nullptr, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    });
    expect_about(reason(grown.growth.resident, "no_address"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, ByReadingIntoAFreshBufferIsCountedWhereItIsRead) {
    const Grown grown("shared-growth-read", [] {
        auto* memory = static_cast<char*>(map(32 * kMiB));
        ::madvise(memory, 32 * kMiB, MADV_NOHUGEPAGE);
        const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
        if (::read(zero.get(), memory, 32 * kMiB) != static_cast<ssize_t>(32 * kMiB)) ::_exit(9);
    });
    expect_sampled(at_sites(grown.growth.resident), 32 * kMiB);
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

std::size_t open_fault_events() {
    std::error_code gone;
    return static_cast<std::size_t>(std::ranges::count_if(fs::directory_iterator("/proc/self/fd"), [&](const auto& fd) {
        return fs::read_symlink(fd.path(), gone) == "anon_inode:[perf_event]";
    }));
}

// With too few descriptors, the program would be attached to the page faults of some CPUs only.
TEST(ResidentGrowth, IsFollowedOnAllCpusOrNotAtAll) {
    const KernelFacts facts = gather_kernel_facts({});
    const SessionSettings settings{.memory_on_v1 = !RealCgroup::v2(),
                                   .follow_ranges = true,
                                   .atomic_exchange = facts.atomic_exchange.value_or(false)};
    const std::size_t before = open_descriptors();
    std::size_t needed = 0;
    std::size_t events = 0;
    {
        const auto session = Session::start(make_plan(facts), settings);
        ASSERT_TRUE(session) << session.error().message();
        GrowthStacks* stacks = session->find<GrowthStacks>();
        ASSERT_TRUE(stacks);
        EXPECT_EQ(stacks->method(), ResidentMethod::live);
        needed = open_descriptors() - before;
        events = open_fault_events();
        EXPECT_GE(events, 2U) << "minor and major faults of each CPU";
        stacks->pause();
        EXPECT_TRUE(stacks->is_paused());
        EXPECT_TRUE(stacks->resume());
        EXPECT_FALSE(stacks->is_paused());
    }
    bool without = false;
    for (std::size_t room = needed; room-- > 0 && !without;) {
        Fd spare(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // for the directory of descriptors
        const FewDescriptors few(room_for(room));
        const auto session = Session::start(make_plan(facts), settings);
        spare = {};
        without = !session || !session->find<GrowthStacks>();
        EXPECT_EQ(open_fault_events(), without ? 0 : events) << "with room for " << room << " descriptors";
    }
    EXPECT_TRUE(without);
}

TEST(ResidentGrowth, IsNobodysWhileAHookIsOffThatCostTooMuch) {
    const RealCgroup job("growth-budget");
    const Child child(job, [](const Child::Script& script) {
        for (;;) {
            script.say();
            script.wait();
            grow_here(128 * kMiB);
        }
    });
    child.heard();
    const Seconds window{0.1};
    Watched watched =
        Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}, .growth_budget = 1e-6, .growth_window = window});
    watched.tick(job);
    const auto grow = [&] {
        child.go();
        child.heard();
        watched.tick(job);
    };
    // The cost budget is checked at ticks, at most once per window, so there is no event to wait for.
    const auto wait_until = [&](bool attached) {
        return ticks_until(watched, job,
                           [&](const TargetSnapshot&) { return watched.has_probe("growth_resident") == attached; });
    };
    grow();
    ASSERT_TRUE(wait_until(false)) << "a budget of nearly 0";
    grow();
    ASSERT_TRUE(wait_until(true)) << "the hook is attached again";
    grow();
    const Growth growth = watched.collector().growth()->report(watched.tick(job));
    expect_sampled(reason(growth.resident, "paused"), 128 * kMiB);
    expect_sampled(at(growth.resident, "grow_here"), 256 * kMiB);
}

TEST(MappedGrowth, StandsAtTheFunctionThatMappedAndIsNetOfWhatWasUnmapped) {
    const Grown grown("shared-growth-mapped", [] {
        char* memory = static_cast<char*>(map_here(32 * kMiB));
        ::munmap(memory + 8 * kMiB, 4 * kMiB);
        (void)::mmap(nullptr, 1024 * kMiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    });
    EXPECT_EQ(at(grown.growth.mapped, "map_here"), static_cast<std::int64_t>(28 * kMiB));
    EXPECT_GE(grown.growth.reserved_bytes, static_cast<std::int64_t>(1024 * kMiB));
}

TEST(ResidentGrowth, StandsAtStacksWhateverTheirNames) {
    const Grown grown("shared-growth-sites", [] { grow_here(32 * kMiB); });
    expect_sampled(at_sites(grown.growth.resident), 32 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(MappedGrowth, StandsAtStacksWhateverTheirNames) {
    const Grown grown("shared-growth-ranges", [] {
        char* memory = static_cast<char*>(map_here(32 * kMiB));
        ::munmap(memory + 8 * kMiB, 4 * kMiB);
    });
    expect_about(at_sites(grown.growth.mapped), 28 * kMiB);
}

// The children of a process that have that name.
std::vector<pid_t> children_of(pid_t parent, const std::string& name) {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto pid = parse_number(entry.path().filename().native());
        if (!pid) continue;
        const auto comm = read_file(entry.path() / "comm");
        if (comm && trimmed(*comm) == name &&
            status_number(static_cast<pid_t>(*pid), "PPid") == static_cast<std::size_t>(parent))
            found.push_back(static_cast<pid_t>(*pid));
    }
    return found;
}

// Signals every helper process of this test that reads watched processes.
void signal_readers(int number) {
    for (const pid_t spawner : children_of(::getpid(), "memscope-spawn"))
        for (const pid_t reader : children_of(spawner, "memscope-read")) ::kill(reader, number);
}

// A helper that gets no CPU for a while: a slow machine. The watcher kills a helper that it sees waiting for 2.5 s, so
// the pause is as short as a tick.
TEST(Growth, WhoseStackIsNotReadYetIsPendingAndThenStandsAtItsStack) {
    const RealCgroup job("growth-slow");
    const Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        grow_here(32 * kMiB);
        (void)map_here(64 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    Watched watched({job.name()});
    const std::int64_t before = anon(watched.tick(job));
    signal_readers(SIGSTOP);
    child.go();
    child.heard();
    const TargetSnapshot& early = watched.tick(job);
    Growth growth = watched.collector().growth()->report(early, NativeReads::Wait::no);
    const std::int64_t change = anon(early) - before;
    signal_readers(SIGCONT);
    expect_sampled(reason(growth.resident, "pending"), 32 * kMiB);
    expect_about(sum(growth.resident), change);
    EXPECT_GE(reason(growth.mapped, "pending"), static_cast<std::int64_t>(64 * kMiB));
    EXPECT_EQ(reason(growth.resident, "unknown_stack"), 0);
    EXPECT_EQ(reason(growth.mapped, "unknown_stack"), 0);

    EXPECT_TRUE(ticks_until(watched, job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return is_named(growth);
    }));
    expect_sampled(at(growth.resident, "grow_here"), 32 * kMiB);
    expect_about(at(growth.mapped, "map_here"), 64 * kMiB);
    watched.expect_nothing_lost();
    watched.expect_all_named();
}

// Nothing can be read of it any more: its growth is not attributed, and the loss is counted.
TEST(Growth, OfAProcessThatEndsBeforeItIsReadIsUnknownAndCounted) {
    const RealCgroup job("growth-brief");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        grow_here(32 * kMiB);
    });
    child.heard();
    Watched watched({job.name()});
    const TargetSnapshot before = watched.tick(job);
    signal_readers(SIGSTOP);
    child.finish();
    const TargetSnapshot& target = watched.tick(job);
    const Growth growth = watched.collector().growth()->report(before, NativeReads::Wait::no);
    signal_readers(SIGCONT);
    ASSERT_TRUE(target.processes.empty());
    expect_sampled(reason(growth.resident, "unknown_stack"), 32 * kMiB);
    EXPECT_EQ(reason(growth.resident, "pending"), 0);
    EXPECT_GT(watched.latest().self.dropped.at("unnamed_frame"), 0U);
}

}  // namespace
}  // namespace memscope
