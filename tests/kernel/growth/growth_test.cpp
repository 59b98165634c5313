// Growth of anonymous memory: attributed and unattributed growth add up to the real growth.
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/text.h"
#include "kernel/growth/grown.h"
#include <memscope/shared/stacks.h>

namespace memscope {
namespace growth_test {

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

// Touches each page on another CPU than the page before, and after a pause.
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

constexpr std::size_t kSmall = MS_RANGE_LEAST_BYTES;

// Each path has a stack of its own: a bit of it chooses one of two calls. The texts differ, so that the compiler does
// not join the calls.
[[gnu::noinline]] void* map_by_path(unsigned path, unsigned bits) {
    if (bits == 0) return map_here(kSmall);
    void* memory = nullptr;
    if (path % 2 == 0) {
        memory = map_by_path(path / 2, bits - 1);
        asm volatile("# even" ::"r"(memory) : "memory");
    } else {
        memory = map_by_path(path / 2, bits - 1);
        asm volatile("# odd" ::"r"(memory) : "memory");
    }
    return memory;
}

}  // extern "C"

TEST(ResidentGrowth, IsAttributedToTheFunctionThatTouchedThePages) {
    const GrownChild grown("shared-growth-small", [] { grow_here(32 * kMiB); });
    expect_sampled(at(grown.growth.resident, "grow_here"), 32 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, CountsTheWholeSizeOfHugePages) {
    const GrownChild grown("shared-growth-huge", [] { grow_in_huge_pages(64 * kMiB); });
    expect_sampled(at(grown.growth.resident, "grow_in_huge_pages"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

// A kernel on whose stack memscope does not find page faults.
TEST(ResidentGrowth, CountsTheWholeSizeOfHugePagesByPageFaultEvents) {
    const GrownChild grown("growth-huge-events", [] { grow_in_huge_pages(64 * kMiB); }, watched_by_events);
    expect_sampled(at(grown.growth.resident, "grow_in_huge_pages"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

// Each CPU stores data of its last page fault. The other processes overwrite those of the job.
TEST(ResidentGrowth, CountsTheWholeSizeOfHugePagesOnABusyMachine) {
    const OtherProcesses others(192, std::chrono::milliseconds(40));
    const GrownChild grown("shared-growth-scattered",
                           [] { grow_in_scattered_huge_pages(64 * kMiB, std::chrono::milliseconds(100)); });
    expect_sampled(at(grown.growth.resident, "grow_in_scattered_huge_pages"), 64 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, OfThreadsCountsForTheirProcess) {
    const GrownChild grown("shared-growth-threads", [] {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([] { grow_here(16 * kMiB); });
        for (std::thread& thread : threads) thread.join();
    });
    expect_sampled(at(grown.growth.resident, "grow_here"), 128 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, IsNetOfFreedMemory) {
    const GrownChild grown("shared-growth-back", [] {
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

TEST(ResidentGrowth, OfAForkedChildStartsAtTheFork) {
    const GrownChild grown("shared-growth-fork", [] {
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
        // The last step may end the process or its program, and then nothing can be read that names its stacks.
        EXPECT_TRUE(ticks_until(watched, job, [this](const TargetSnapshot& target) {
            grown = target;
            const Growth growth = report(target);
            return at(growth.resident, "grow_here") != 0 && is_named(growth);
        }));
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

TEST(ResidentGrowth, RestartsAfterAnExec) {
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

// A kernel on whose stack memscope does not find page faults, and where perf events need CAP_SYS_ADMIN.
TEST(ResidentGrowth, IsNetAtItsStackWithoutAddressesOfPageFaults) {
    KernelFacts facts = gather_kernel_facts({});
    facts.fault_addresses = false;
    facts.fault_events = false;
    const GrownChild grown(
        "growth-net", [] { grow_here(128 * kMiB); },
        [&facts](const RealCgroup& job) { return Watched::on(facts, {.cgroups = {job.name()}}); });
    EXPECT_EQ(grown.growth.resident_method, ResidentMethod::first_touch);
    expect_about(at(grown.growth.resident, "grow_here"), 128 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(ResidentGrowth, IsNotKnownWithoutMappings) {
    const GrownChild grown(
        "growth-no-maps", [] { grow_here(16 * kMiB); },
        [](const RealCgroup& job) {
            return Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}, .maps = false});
        });
    EXPECT_EQ(grown.growth.resident_method, ResidentMethod::none);
    EXPECT_TRUE(grown.growth.resident.sites.empty());
}

TEST(MappedGrowth, IsAttributedToTheMappingFunctionWithoutTheUnmappedBytes) {
    const GrownChild grown("shared-growth-mapped", [] {
        char* memory = static_cast<char*>(map_here(32 * kMiB));
        ::munmap(memory + 8 * kMiB, 4 * kMiB);
        (void)::mmap(nullptr, 1024 * kMiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    });
    EXPECT_EQ(at(grown.growth.mapped, "map_here"), static_cast<std::int64_t>(28 * kMiB));
    EXPECT_GE(grown.growth.reserved_bytes, static_cast<std::int64_t>(1024 * kMiB));
}

TEST(ResidentGrowth, IsAttributedToStacksWithAnyNames) {
    const GrownChild grown("shared-growth-sites", [] { grow_here(32 * kMiB); });
    expect_sampled(at_sites(grown.growth.resident), 32 * kMiB);
    expect_about(sum(grown.growth.resident), grown.change);
}

TEST(MappedGrowth, IsAttributedToStacksWithAnyNames) {
    const GrownChild grown("shared-growth-ranges", [] {
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
TEST(Growth, IsPendingUntilItsStackIsReadAndThenAttributedToIt) {
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

// The process has ended, so its memory cannot be read any more: its growth is not attributed, and the loss is counted.
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

// As above, but the helper answers that the process has ended.
TEST(Growth, OfAProcessThatEndsBeforeItsMappingsAreReadIsUnknown) {
    const RealCgroup job("growth-briefer");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        grow_here(32 * kMiB);
    });
    child.heard();
    Watched watched({job.name()});
    const TargetSnapshot before = watched.tick(job);
    child.finish();
    for (int i = 0; i < 50; ++i) {  // until the answer of the helper has arrived
        watched.collector().on_events();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const TargetSnapshot& target = watched.tick(job);
    const Growth growth = watched.collector().growth()->report(before, NativeReads::Wait::no);
    ASSERT_TRUE(target.processes.empty());
    expect_sampled(reason(growth.resident, "unknown_stack"), 32 * kMiB);
    EXPECT_EQ(watched.unnamed(), 0U) << "every process that lives for milliseconds would count";
}

// More stacks wait for a helper than there is room for. Their processes still run, so the kernel sends a stack again
// when it is used again.
TEST(Growth, OfStacksWithoutRoomIsAttributedWhenTheyAreUsedAgain) {
    constexpr unsigned kPaths = 2200, kStep = 440, kBits = 12;
    const RealCgroup job("growth-many");
    const auto map_all = [](const Child::Script& script) {
        for (unsigned path = 0;; path = (path + kStep) % kPaths) {
            script.say();
            script.wait();
            for (unsigned i = 0; i < kStep; ++i) (void)map_by_path(path + i, kBits);
        }
    };
    const Child one(job, map_all), other(job, map_all);
    one.heard();
    other.heard();
    Watched watched({job.name()});
    (void)watched.tick(job);
    const auto use_all = [&] {  // in steps, so that the ring buffer has room
        for (unsigned i = 0; i < kPaths; i += kStep)
            for (const Child* child : {&one, &other}) {
                child->go();
                child->heard();
                watched.collector().on_events();
            }
    };
    signal_readers(SIGSTOP);
    use_all();
    Growth growth = watched.collector().growth()->report(watched.tick(job), NativeReads::Wait::no);
    signal_readers(SIGCONT);
    EXPECT_GT(reason(growth.mapped, "unknown_stack"), 0);
    EXPECT_GT(watched.unnamed(), 0U);

    use_all();
    EXPECT_TRUE(ticks_until(watched, job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return is_named(growth) && reason(growth.mapped, "unknown_stack") == 0;
    }));
    EXPECT_EQ(at(growth.mapped, "map_by_path"), static_cast<std::int64_t>(kSmall * 2 * 2 * kPaths));
    watched.expect_nothing_lost();
}

// A framework, or a deep import, has more frames than there is room for.
TEST(ResidentGrowth, OfADeepPythonStackHasItsInnermostAndOutermostFrames) {
    constexpr int kDepth = 150;
    const std::filesystem::path script =
        std::filesystem::temp_directory_path() / ("memscope-deep-" + std::to_string(::getpid()) + ".py");
    std::ofstream(script) << R"(
import time
kept = []
def deep(left):
    if left > 0: return deep(left - 1)
    kept.append(bytearray(b'x') * (64 << 20))
def begin(): deep()" << kDepth
                          << R"()
time.sleep(2)
begin()
time.sleep(1000)
)";
    const RealCgroup job("growth-deep");
    Watched watched({job.name()});
    const Child child(job, [&](const Child::Script&) {
        ::execlp("python3", "python3", script.c_str(), nullptr);
        ::_exit(127);
    });
    Growth growth;
    EXPECT_TRUE(ticks_until(watched, job, [&](const TargetSnapshot& target) {
        growth = watched.collector().growth()->report(target);
        return is_named(growth) && !growth.resident.sites.empty() &&
               growth.resident.sites[0].bytes >= static_cast<std::int64_t>(60 * kMiB);
    }));
    ASSERT_FALSE(growth.resident.sites.empty());
    const std::vector<PythonFrame>& frames = growth.resident.sites[0].python;
    ASSERT_EQ(frames.size(), MS_PYTHON_FRAMES + 1U);
    EXPECT_EQ(frames.front().function, "deep");
    EXPECT_EQ(frames[MS_PYTHON_INNERMOST].file, kLeftOutFile);
    // deep() runs kDepth + 1 times, below begin() and the module.
    EXPECT_EQ(frames[MS_PYTHON_INNERMOST].function,
              "… " + std::to_string(kDepth + 3 - MS_PYTHON_FRAMES) + " frames left out …");
    EXPECT_EQ(frames[frames.size() - 2].function, "begin");
    EXPECT_EQ(frames.back().function, "<module>");
    watched.expect_nothing_lost();
    std::filesystem::remove(script);
}

}  // namespace growth_test
}  // namespace memscope
