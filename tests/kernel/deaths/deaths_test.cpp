// Real deaths that the OOM killer did not cause, and exits that are no deaths.
#include "kernel/deaths/deaths.h"

#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace memscope {
namespace deaths_test {

TEST(Deaths, ByASigkillFromOutsideNameItsSender) {
    const RealCgroup job("shared-killed");
    const RealCgroup elsewhere("elsewhere");
    Watched watched = Watched::shared();
    Child child(job, sleeper);
    child.heard();
    Child killer(elsewhere, [&](const Child::Script& script) {
        ::prctl(PR_SET_NAME, "some,\"killer\n");
        ::kill(child.pid(), SIGKILL);
        sleeper(script);
    });
    killer.heard();
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "sigkill");
    EXPECT_EQ(name_of(death.sender), "outside");
    EXPECT_EQ(death.id.pid, child.pid());
    EXPECT_EQ(death.signal, SIGKILL);
    ASSERT_TRUE(death.sent_by);
    EXPECT_EQ(death.sent_by->pid, killer.pid());
    EXPECT_EQ(death.sent_by->comm, "some,\"killer\n");
    EXPECT_EQ(death.explanation.find('\n'), std::string::npos);
    EXPECT_TRUE(death.news);
    EXPECT_EQ(watched.find(job)->death_tally.of(DeathCause::sigkill, DeathSender::outside), 1U);
}

TEST(Deaths, OfWorkersKilledByTheirLauncherAreTeardown) {
    const RealCgroup job("shared-teardown");
    Watched watched = Watched::shared();
    Child launcher(job, [](const Child::Script& script) {
        const pid_t worker = fork_off([] { ::pause(); });
        script.say();
        script.wait();
        ::kill(worker, SIGKILL);
        ::waitpid(worker, nullptr, 0);
        sleeper(script);
    });
    launcher.heard();
    watched.tick();
    launcher.go();
    launcher.heard();
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "sigkill");
    EXPECT_EQ(name_of(death.sender), "tree");
    EXPECT_EQ(death.sent_by->pid, launcher.pid());
    EXPECT_FALSE(death.news);
}

// For example, a service manager kills the processes that a service leaves behind.
TEST(Deaths, AfterTheEndOfTheRootAreTeardownForAnySender) {
    const RealCgroup job("left-behind");
    Watched watched({job.name()});
    watched.tick();
    Child root(job, [](const Child::Script& script) {
        const pid_t left = fork_off([] { ::pause(); });
        script.say(std::to_string(left));
        script.wait();
    });
    const pid_t left = std::stoi(root.heard());
    watched.tick();
    root.finish();
    ASSERT_EQ(::kill(left, SIGKILL), 0);
    const Death death = only_death(watched, job);
    EXPECT_EQ(death.id.pid, left);
    EXPECT_EQ(name_of(death.sender), "tree");
    EXPECT_EQ(death.sent_by->pid, ::getpid()) << "the sender is named nevertheless";
    EXPECT_FALSE(death.news);
}

// When the init process of a PID namespace exits, the kernel kills all its processes.
TEST(Deaths, OfAPidNamespaceWhoseInitEndsAreTeardown) {
    const RealCgroup job("init");
    Watched watched({job.name()});
    watched.tick();
    Child outer(job, [](const Child::Script& script) {
        if (::unshare(CLONE_NEWPID) != 0) ::_exit(3);
        const pid_t init = fork_off([] {
            fork_off([] { ::pause(); });
            ::usleep(200'000);
        });
        ::waitpid(init, nullptr, 0);
        sleeper(script);
    });
    outer.heard();
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "sigkill");
    EXPECT_EQ(name_of(death.sender), "tree");
    EXPECT_FALSE(death.news);
}

// A tmpfs of 4 MiB in a mount namespace of the calling process.
std::string mount_small_tmpfs() {
    const std::string point = "/tmp";
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", point.c_str(), "tmpfs", 0, "size=4m") != 0)
        ::_exit(3);
    return point;
}

void write_beyond_the_end_of_room(const std::string& directory) {
    const int file = ::open((directory + "/batch").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, 16 * kMiB) != 0) ::_exit(3);
    void* memory = ::mmap(nullptr, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) ::_exit(3);
    for (std::size_t at = 0; at < 16 * kMiB; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
}

TEST(Deaths, BySigbusNameTheFileAndTheFullFileSystem) {
    const RealCgroup job("shared-bus");
    Watched watched = Watched::shared();
    // Stays alive to keep the mount namespace, so that memscope can find the mount point.
    Child stays(job, [](const Child::Script& script) {
        const std::string point = mount_small_tmpfs();
        script.say();
        script.wait();
        const pid_t worker = fork_off([&] { write_beyond_the_end_of_room(point); });
        ::waitpid(worker, nullptr, 0);
        script.say(std::to_string(worker));
        script.wait();
    });
    stays.heard();
    watched.tick();
    stays.go();
    const pid_t worker = std::stoi(stays.heard());
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "sigbus");
    EXPECT_EQ(name_of(death.sender), "kernel");
    EXPECT_EQ(death.id.pid, worker);
    if (!gather_kernel_facts({}).find_vma_helper) {
        EXPECT_FALSE(death.mapping);
        return;
    }
    ASSERT_TRUE(death.mapping);
    EXPECT_EQ(death.mapping->name, "batch");
    EXPECT_EQ(death.mapping->file_system, "tmpfs");
    EXPECT_EQ(death.mapping->mount, "/tmp");
}

// DataLoader workers have such a handler.
TEST(Deaths, BySigbusThatAHandlerRaisesAgainAreOneAndTheKernels) {
    const RealCgroup job("shared-reraised");
    Watched watched = Watched::shared();
    Child child(job, [](const Child::Script&) {
        struct sigaction once{};
        once.sa_handler = [](int number) { (void)::raise(number); };
        once.sa_flags = SA_RESETHAND | SA_NODEFER;
        ::sigaction(SIGBUS, &once, nullptr);
        write_beyond_the_end_of_room(mount_small_tmpfs());
    });
    wait_for(child);
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "sigbus");
    EXPECT_EQ(name_of(death.sender), "kernel");
    EXPECT_EQ(death.mapping.has_value(), gather_kernel_facts({}).find_vma_helper);
    EXPECT_EQ(watched.find(job)->death_tally.of(DeathCause::sigbus), 1U);
}

TEST(Deaths, ByOtherSignalsNameTheSignal) {
    const RealCgroup job("shared-signals");
    Watched watched = Watched::shared();
    Child crashes(job, [](const Child::Script&) {
        *static_cast<volatile int*>(::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
    });
    wait_for(crashes);
    const Death crash = only_death(watched, job);
    EXPECT_EQ(name_of(crash.cause), "signal");
    EXPECT_EQ(crash.signal, SIGSEGV);
    EXPECT_EQ(name_of(crash.sender), "kernel");
    Child aborts(job, [](const Child::Script&) { ::abort(); });
    wait_for(aborts);
    const Death abort = only_death(watched, job);
    EXPECT_EQ(abort.signal, SIGABRT);
    EXPECT_EQ(name_of(abort.sender), "none") << "no process other than itself";
}

// Lets the child continue after a tick, because the calls of a process that was moved into the target are followed only
// from the next tick on.
void let_go_when_seen(Watched& watched, const Child& child) {
    child.heard();
    watched.tick();
    child.go();
    wait_for(child);
}

TEST(Deaths, AfterAFailedMappingNameTheCallAndTheSize) {
    const RealCgroup job("shared-refused");
    Watched watched = Watched::shared();
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        const rlimit small{.rlim_cur = 512 * kMiB, .rlim_max = 512 * kMiB};
        ::setrlimit(RLIMIT_AS, &small);
        if (::mmap(nullptr, 1024 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            ::_exit(1);
    });
    let_go_when_seen(watched, child);
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "alloc_failed");
    EXPECT_EQ(name_of(death.sender), "none");
    EXPECT_EQ(death.exit_status, 1);
    ASSERT_TRUE(death.allocation);
    EXPECT_EQ(death.allocation->call, "mmap");
    EXPECT_EQ(death.allocation->reason, "enomem");
    EXPECT_EQ(death.allocation->size, Bytes{1024 * kMiB});
    EXPECT_LT(death.allocation->before_exit, Seconds{5});
}

TEST(Deaths, AfterAFailedBrkNameTheCall) {
    const RealCgroup job("shared-broken");
    Watched watched = Watched::shared();
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        const rlimit small{.rlim_cur = kMiB, .rlim_max = kMiB};
        ::setrlimit(RLIMIT_DATA, &small);
        if (::brk(static_cast<char*>(::sbrk(0)) + 512 * kMiB) != 0) ::_exit(1);
    });
    let_go_when_seen(watched, child);
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "alloc_failed");
    ASSERT_TRUE(death.allocation);
    EXPECT_EQ(death.allocation->call, "brk");
    EXPECT_EQ(death.allocation->reason, "enomem");
    EXPECT_EQ(death.allocation->size, Bytes{512 * kMiB});
}

TEST(Deaths, AfterAFullFileSystemNameIt) {
    const RealCgroup job("shared-full");
    Watched watched = Watched::shared();
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        const std::string point = mount_small_tmpfs();
        const int file = ::open((point + "/batch").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        if (::fallocate(file, 0, 0, 16 * kMiB) != 0) ::_exit(1);
    });
    let_go_when_seen(watched, child);
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "alloc_failed");
    ASSERT_TRUE(death.allocation && death.allocation->file);
    EXPECT_EQ(death.allocation->call, "fallocate");
    EXPECT_EQ(death.allocation->reason, "enospc");
    EXPECT_EQ(death.allocation->file->file_system, "tmpfs");
}

void fail_to_map() {
    if (::mmap(nullptr, std::size_t{1} << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) ::_exit(3);
}

std::uint64_t failures(const TargetSnapshot& target) {
    std::uint64_t sum = 0;
    for (const auto& [key, counters] : target.counters)
        if (counters.mappings) sum += counters.mappings->failures[MS_FAILED_MMAP][MS_REASON_ENOMEM];
    return sum;
}

TEST(Deaths, AreNoneWhereAProcessJustExits) {
    const RealCgroup job("shared-exits");
    Watched watched = Watched::shared();
    const auto ends_without_death = [&](const char* what, const std::function<void()>& body) {
        Child child(job, [&](const Child::Script& script) {
            sleeper(script);
            body();
        });
        let_go_when_seen(watched, child);
        for (const Death& death : watched.tick(job).deaths) ADD_FAILURE() << what << ": " << death.explanation;
    };
    ends_without_death("exit 0", [] {});
    ends_without_death("exit 1", [] { ::_exit(1); });
    ends_without_death("Ctrl-C", [] { (void)::raise(SIGINT); });
    ends_without_death("asked to end", [] { (void)::raise(SIGTERM); });
    ends_without_death("nobody reads", [] { (void)::raise(SIGPIPE); });
    ends_without_death("a failure that was coped with", [] { fail_to_map(); });
    EXPECT_GT(failures(*watched.find(job)), 0U) << "the failure was counted";
    ends_without_death("a failure after which as much was had", [] {
        const rlimit small{.rlim_cur = 512 * kMiB, .rlim_max = RLIM_INFINITY};
        const rlimit large{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
        ::setrlimit(RLIMIT_AS, &small);
        const void* refused = ::mmap(nullptr, 1024 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ::setrlimit(RLIMIT_AS, &large);
        const void* had = ::mmap(nullptr, 1024 * kMiB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (refused != MAP_FAILED || had == MAP_FAILED) ::abort();  // abort() would be a death, so the test would fail
        ::_exit(1);
    });
    EXPECT_EQ(watched.tick(job).death_tally.deaths, DeathTally{}.deaths);
}

TEST(Deaths, OfDescendantsAreSeenWhenAPidIsWatched) {
    const RealCgroup job("by-birth");
    Child child(job, [](const Child::Script& script) {
        script.wait();
        const pid_t worker = fork_off([] { ::abort(); });
        ::waitpid(worker, nullptr, 0);
        sleeper(script);
    });
    Watched watched = Watched::by_pid(child.pid());
    watched.tick();
    child.go();
    child.heard();
    EXPECT_EQ(watched.tick().targets.at(0).death_tally.of(DeathCause::signal), 1U);
    child.kill();
    const Snapshot& last = watched.tick();
    EXPECT_EQ(last.targets.at(0).death_tally.of(DeathCause::sigkill, DeathSender::outside), 1U);
}

TEST(Deaths, OfACgroupThatIsRemovedAtOnceAreSeen) {
    RealCgroup job("removed");
    Watched watched({job.name()});
    watched.tick();
    Child child(job, sleeper);
    child.heard();
    child.kill();
    job.remove();
    const Snapshot& snapshot = watched.tick();
    ASSERT_EQ(snapshot.targets.size(), 1U);
    EXPECT_FALSE(snapshot.targets[0].up);
    ASSERT_EQ(snapshot.targets[0].deaths.size(), 1U);
    EXPECT_EQ(snapshot.targets[0].deaths[0].id.pid, child.pid());
    const Snapshot& after = watched.tick();
    ASSERT_EQ(after.targets.size(), 1U);
    EXPECT_TRUE(after.targets[0].deaths.empty());
    EXPECT_EQ(after.targets[0].death_tally.of(DeathCause::sigkill), 1U) << "for the next scrape";
}

}  // namespace deaths_test
}  // namespace memscope
