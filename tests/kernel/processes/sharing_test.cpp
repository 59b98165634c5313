// Memory that forked processes share, and the copies they make of it.
#include <atomic>
#include <cmath>
#include <csignal>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

#include "kernel/watched.h"

namespace memscope {
namespace sharing_test {

using namespace std::chrono_literals;

constexpr std::size_t kDataset = 200 * kMiB;
constexpr int kWorkers = 3;

// Memory for messages between a parent and its workers: a shared mapping, unlike the rest of their memory.
struct Stage {
    std::atomic<bool> write{false};
    std::atomic<int> done{0};
};

Stage& make_stage() {
    void* page = ::mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap");
    return *new (page) Stage;
}

// A byte in each page of the first half, as a reference count does it.
[[noreturn]] void work(Stage& stage, char* dataset) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!stage.write) std::this_thread::sleep_for(1ms);
    volatile char* bytes = dataset;
    for (std::size_t at = 0; at < kDataset / 2; at += 4096) bytes[at] = 2;
    ++stage.done;
    for (;;) ::pause();
}

// Reports when the dataset is loaded, when the workers are forked, and when they have written.
void trainer(const Child::Script& script) {
    Stage& stage = make_stage();
    char* dataset = touch(kDataset);
    script.say();
    script.wait();
    for (int i = 0; i < kWorkers; ++i)
        if (::fork() == 0) work(stage, dataset);
    script.say();
    script.wait();
    stage.write = true;
    while (stage.done < kWorkers) std::this_thread::sleep_for(1ms);
    script.say();
    script.wait();
}

// Memory that the roles of a target have copied, in MiB.
struct Found {
    double mib = 0;
    bool confirmed = true;  // confirmed by the pages of all processes
};
// None: not known.
std::optional<Found> unshared(const TargetSnapshot& target) {
    if (target.sharing.unshared.empty()) return std::nullopt;
    Found found;
    for (const auto& [key, unshared] : target.sharing.unshared) {
        found.confirmed = found.confirmed && unshared.confirmed;
        found.mib += static_cast<double>(unshared.bytes.n) / kMiB;
    }
    return found;
}

// Ticks like the program, until the private pages of the workers are at least this much. None: not confirmed within
// about half a minute.
std::optional<Found> confirmed(Watched& watched, const RealCgroup& job, double at_least) {
    for (int i = 0; i < 150; ++i) {
        const auto latest = unshared(watched.tick(job));
        if (latest && latest->confirmed && latest->mib >= at_least) return latest;
        std::this_thread::sleep_for(200ms);
    }
    return std::nullopt;
}

constexpr double kExpected = kWorkers * static_cast<double>(kDataset) / 2 / kMiB;

// A job that is watched before its workers fork. The workers have not written yet.
struct ForkedJob {
    explicit ForkedJob(const char* name) : job(name), parent(job, trainer) {
        parent.heard();
        watched = std::make_unique<Watched>(std::vector{job.name()});
        watched->tick(job);
        parent.go();
        parent.heard();
    }
    void write() {
        parent.go();
        parent.heard();
    }
    const TargetSnapshot& tick() { return watched->tick(job); }

    RealCgroup job;
    Child parent;
    std::unique_ptr<Watched> watched{};
};

TEST(Sharing, TheSumsShowCopiesAtOnce) {
    ForkedJob scene("unshared-sums");
    const auto forked = unshared(scene.tick());
    ASSERT_TRUE(forked) << "the sums are known from the first tick on";
    EXPECT_LT(forked->mib, 1) << "forked, and nothing written";
    scene.write();
    std::this_thread::sleep_for(2100ms);  // maximum age of the counters of the cgroup
    const TargetSnapshot& target = scene.tick();
    const auto written = unshared(target);
    ASSERT_TRUE(written);
    EXPECT_NEAR(written->mib, kExpected, kExpected / 10);
    EXPECT_NE(target.sharing.explanation.find("3 forked processes "), std::string::npos) << target.sharing.explanation;
}

// The pages of each process are read before and after the copies. False: the second reads did not follow soon enough.
// On a busy host the first read may be interrupted and take long, and then the second one follows after minutes
// (ReadSchedule).
bool pages_confirm_copies(const std::string& name) {
    ForkedJob scene(name.c_str());
    const auto forked = confirmed(*scene.watched, scene.job, 0);
    if (!forked) return false;
    EXPECT_LT(forked->mib, 1) << "forked, and nothing written";
    scene.write();
    const auto found = confirmed(*scene.watched, scene.job, kExpected * 0.9);
    if (!found) return false;
    EXPECT_NEAR(found->mib, kExpected, kExpected / 10);
    EXPECT_NE(scene.watched->find(scene.job)->sharing.explanation.find("3 forked processes have copied"),
              std::string::npos)
        << scene.watched->find(scene.job)->sharing.explanation;
    scene.watched->expect_nothing_lost();
    return true;
}

TEST(Sharing, ThePagesOfForkedWorkersConfirmTheirCopies) {
    bool confirm = false;
    for (int i = 0; i < 3 && !confirm; ++i) confirm = pages_confirm_copies("unshared-" + std::to_string(i));
    EXPECT_TRUE(confirm) << "in none of three jobs";
}

TEST(Sharing, CopiesFromBeforeTheFirstTickAreFoundToo) {
    ForkedJob scene("unshared-at-once");
    scene.write();
    const auto found = confirmed(*scene.watched, scene.job, kExpected * 0.9);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->mib, kExpected, kExpected / 10);
}

TEST(Sharing, AForkWithoutWritesIsNoUnSharing) {
    ForkedJob scene("still-shared");
    EXPECT_TRUE(confirmed(*scene.watched, scene.job, 0));
    for (int i = 0; i < 25; ++i) {
        const auto found = unshared(scene.tick());
        ASSERT_TRUE(found);
        EXPECT_LT(found->mib, 1);
        std::this_thread::sleep_for(200ms);
    }
    EXPECT_EQ(scene.watched->find(scene.job)->sharing.explanation, "");
}

double own_of_workers(const TargetSnapshot& target) {
    double own = 0;
    for (const Process& process : target.processes)
        if (process.task.parent != ::getpid()) own += static_cast<double>(process.own_anon().n) / kMiB;
    return own;
}

TEST(Sharing, AWorkerHoldsWhatItCopiedAndNotWhatItInherited) {
    ForkedJob scene("own");
    const TargetSnapshot& forked = scene.tick();
    ASSERT_EQ(forked.processes.size(), 1U + kWorkers);
    EXPECT_LT(own_of_workers(forked), 2) << "at the first tick";
    double inherited = 0;
    for (const Process& process : forked.processes) inherited += static_cast<double>(process.inherited.n) / kMiB;
    EXPECT_GT(inherited, kWorkers * static_cast<double>(kDataset) / kMiB);
    scene.write();
    // The sums show the copies as soon as the counters of the cgroup show them, even if no pages were read meanwhile.
    // For one tick the sums can be too high, because only the pages of some workers were read since then.
    const auto holds = [&] { return std::abs(own_of_workers(scene.tick()) - kExpected) <= kExpected / 10; };
    for (int i = 0; i < 450 && !holds(); ++i) std::this_thread::sleep_for(200ms);
    EXPECT_NEAR(own_of_workers(*scene.watched->find(scene.job)), kExpected, kExpected / 10);
    EXPECT_NEAR(static_cast<double>(sum_own_anon(scene.watched->find(scene.job)->processes).n) / kMiB,
                kExpected + static_cast<double>(kDataset) / kMiB, kExpected / 5);
}

TEST(Sharing, JudgedMemoryOfATreeCountsEachPageOnce) {
    const RealCgroup job("own-by-pid");
    Child parent(job, trainer);
    parent.heard();
    parent.go();
    parent.heard();  // forked before watching began
    Watched watched = Watched::by_pid(parent.pid());
    const auto all_known = [&] {
        const auto& target = watched.tick().targets.at(0);
        return target.processes.size() == 1U + kWorkers &&
               std::ranges::all_of(target.processes, [](const Process& process) { return process.own_known; });
    };
    for (int i = 0; i < 450 && !all_known(); ++i) std::this_thread::sleep_for(200ms);
    const TargetSnapshot& target = watched.latest().targets.at(0);
    EXPECT_NEAR(static_cast<double>(judged_memory(target).n), static_cast<double>(kDataset), kDataset * 0.1);
    EXPECT_GT(static_cast<double>(target.sharing.summed_anon.n), (1 + kWorkers) * static_cast<double>(kDataset));
}

TEST(Sharing, CountsEveryPageInOneRoleOnly) {
    const RealCgroup job("pss");
    Child parent(job, trainer);
    parent.heard();
    parent.go();
    parent.heard();
    Watched watched({job.name()});
    // Within a second on an idle machine. Reads take at most a hundredth of a core, so after slow ones the next waits.
    // A role is known when most of its memory has been read, so a worker may be missing at first.
    const auto all_read = [&] {
        std::size_t read = 0;
        for (const auto& [key, role] : watched.tick(job).sharing.pss) read += role.processes;
        return read == std::size_t{1} + kWorkers;
    };
    for (int i = 0; i < 300 && !all_read(); ++i) std::this_thread::sleep_for(200ms);
    const TargetSnapshot& target = *watched.find(job);
    ASSERT_EQ(target.sharing.pss.size(), target.roles.size());
    double pss = 0;
    for (const auto& [key, role] : target.sharing.pss) {
        pss += static_cast<double>(role.bytes.n);
        EXPECT_LT(role.age.count(), 15);
    }
    EXPECT_GT(static_cast<double>(target.sharing.summed_anon.n), (1 + kWorkers) * static_cast<double>(kDataset));
    EXPECT_NEAR(pss, static_cast<double>(kDataset), kDataset * 0.1);  // and the memory of the test itself
}

}  // namespace sharing_test
}  // namespace memscope
