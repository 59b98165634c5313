// Resident growth counts pages that are still there: memory that comes and goes, that moves, that a child inherits or
// that the kernel populates. The hooks follow the faults of all CPUs or of none.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/growth/grown.h"
#include "kernel/plan.h"
#include "kernel/session.h"
#include "support/few_descriptors.h"

namespace memscope {

// Functions that the tests find by name.
extern "C" {

[[gnu::noinline]] void keep_here(char* memory, std::size_t bytes) { touch_all(memory, bytes); }
[[gnu::noinline]] void pass_by(char* memory, std::size_t bytes) { touch_all(memory, bytes); }

}  // extern "C"

namespace live_growth_test {

constexpr std::size_t kRounds = 3968;

void keep_below_memory_that_comes_and_goes() {
    auto* kept = static_cast<char*>(map(kRounds * 4 * 4096));
    ::madvise(kept, kRounds * 4 * 4096, MADV_NOHUGEPAGE);
    for (std::size_t round = 0; round < kRounds; ++round) {
        auto* passing = static_cast<char*>(map(200 * 4096));
        pass_by(passing, 200 * 4096);
        keep_here(kept + round * 4 * 4096, 4 * 4096);
        ::munmap(passing, 200 * 4096);
    }
}

void expect_kept(const GrownChild& grown) {
    // 124 samples of many more: the error of such a sum is 1/sqrt(samples).
    EXPECT_NEAR(static_cast<double>(at(grown.growth.resident, "keep_here")), 62.0 * kMiB,
                3 / std::sqrt(124) * 62 * kMiB);
    EXPECT_LT(at(grown.growth.resident, "pass_by"), static_cast<std::int64_t>(4 * kMiB));
    expect_about(sum(grown.growth.resident), grown.change);
}

// Net changes would not show this growth, because the number of pages falls and rises by far more than the pages that
// are kept.
TEST(ResidentGrowth, IsSeenDespiteTransientMemory) {
    expect_kept(GrownChild("shared-growth-below", keep_below_memory_that_comes_and_goes));
}

TEST(ResidentGrowth, IsSeenDespiteTransientMemoryByPageFaultEvents) {
    expect_kept(GrownChild("growth-below-events", keep_below_memory_that_comes_and_goes, watched_by_events));
}

TEST(ResidentGrowth, AtReusedAddressesIsCountedOnce) {
    const GrownChild grown("shared-growth-again", [] {
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

TEST(ResidentGrowth, MovesWithMremapAndEndsWithMadvise) {
    const GrownChild grown("shared-growth-moves", [] {
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
    const GrownChild grown("shared-growth-copies", [] {
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

TEST(ResidentGrowth, OfPopulatedMappingsHasNoAddress) {
    const GrownChild grown("shared-growth-populated", [] {
        (void)::mmap(nullptr, 64 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    });
    expect_about(reason(grown.growth.resident, "no_address"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(FaultAddresses, AreFoundOnTheStackOfEveryKernelWithCountersPerCpu) {
    const KernelFacts facts = gather_kernel_facts({});
    EXPECT_EQ(facts.fault_addresses, facts.percpu_rss == true);
}

// mlock() causes faults without an event, so their addresses are known only from the stack.
TEST(ResidentGrowth, OfLockedMemoryIsCountedWhereItIsLocked) {
    const GrownChild grown("shared-growth-locked", [] {
        auto* memory = static_cast<char*>(map(32 * kMiB));
        ::madvise(memory, 32 * kMiB, MADV_NOHUGEPAGE);
        if (::mlock(memory, 32 * kMiB) != 0) ::_exit(9);
    });
    if (gather_kernel_facts({}).fault_addresses)
        expect_sampled(at_sites(grown.growth.resident), 32 * kMiB);
    else
        expect_about(reason(grown.growth.resident, "no_address"), 32 * kMiB);
}

char* small_pages(std::size_t bytes) {
    auto* memory = static_cast<char*>(map(bytes));
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

// Fills new pages by calls that may read fewer bytes than requested.
template <typename Read>
void fill(const char* what, std::size_t bytes, Read read) {
    char* const memory = small_pages(bytes);
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t got = read(memory + done, bytes - done);
        if (got <= 0) {
            ::perror(what);
            ::_exit(9);
        }
        done += static_cast<std::size_t>(got);
    }
}

// The kernel itself writes to the fresh pages. The depth of its stack differs from call to call.
TEST(ResidentGrowth, BySystemCallsThatWriteToFreshBuffersIsCountedWhereTheyAreCalled) {
    constexpr std::size_t kBytes = 8 * kMiB;  // all four fit into the memory of a small virtual machine
    const GrownChild grown("shared-growth-calls", [] {
        const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
        int ends[2];
        if (::pipe(ends) != 0) ::_exit(9);
        fill("read", kBytes, [&](char* to, std::size_t bytes) { return ::read(zero.get(), to, bytes); });
        fill("getrandom", kBytes, [&](char* to, std::size_t bytes) { return ::getrandom(to, bytes, 0); });
        fill("read of a pipe", kBytes, [&](char* to, std::size_t bytes) {
            static constexpr char kSent[32 * 1024] = {};
            const ssize_t sent = ::write(ends[1], kSent, std::min(bytes, sizeof kSent));
            return sent <= 0 ? sent : ::read(ends[0], to, static_cast<std::size_t>(sent));
        });
        fill("readv", kBytes, [&](char* to, std::size_t bytes) {
            const iovec two[] = {{to, bytes / 2}, {to + bytes / 2, bytes - bytes / 2}};
            return ::readv(zero.get(), two, 2);
        });
    });
    expect_sampled(at_sites(grown.growth.resident), 4 * kBytes);
    expect_about(sum(grown.growth.resident), grown.change);
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
    KernelFacts facts = gather_kernel_facts({});
    facts.fault_addresses = false;  // addresses come from events
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

TEST(ResidentGrowth, IsNotAttributedWhileAHookIsPausedBecauseOfItsCost) {
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
    Growth growth;
    EXPECT_TRUE(ticks_until(watched, job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return is_named(growth);
    }));
    expect_sampled(reason(growth.resident, "paused"), 128 * kMiB);
    expect_sampled(at(growth.resident, "grow_here"), 256 * kMiB);
}

}  // namespace live_growth_test
}  // namespace memscope
