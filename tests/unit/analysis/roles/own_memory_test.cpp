#include "analysis/roles/own_memory.h"

#include <gtest/gtest.h>

namespace memscope {
namespace own_memory_test {

constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

// A made-up process tree that is scanned once a second. The test decides when pages are read.
class ForkedTree {
  public:
    void start(pid_t pid, Bytes anon, pid_t parent = 0) { add(pid, parent, anon, false); }
    void fork(pid_t parent, pid_t pid) { add(pid, parent, process(parent).task.memory->anon, true); }
    void exit(pid_t pid) {
        std::erase_if(processes_, [&](const Process& p) { return p.task.id.pid == pid; });
    }
    Process& process(pid_t pid) {
        return *std::ranges::find_if(processes_, [&](const Process& p) { return p.task.id.pid == pid; });
    }
    Bytes& anon(pid_t pid) { return process(pid).task.memory->anon; }
    // Reads all its pages, of which `own` are private.
    void read(pid_t pid, Bytes own) {
        readings_[process(pid).task.id] = {
            now_ns_, now_ns_, PageSharing{.anonymous = anon(pid), .own_anon = own, .pss = PageSharing::Pss{}}};
    }
    void sample(pid_t pid, Bytes own) {
        readings_[process(pid).task.id] = {now_ns_, now_ns_, PageSharing{.anonymous = anon(pid), .own_anon = own}};
    }
    // The reading of its pages began before it forked.
    void reading_began_earlier(pid_t pid) { readings_[process(pid).task.id].began_ns -= 2'000'000'000; }
    void copied_since_read(pid_t pid, Bytes bytes) { copied_[process(pid).task.id] = bytes; }
    void tick() {
        now_ns_ += 1'000'000'000;
        own_.fill(now_ns_, processes_, readings_, [this](const ProcessId& id) { return copied_[id]; });
    }
    std::uint64_t own(pid_t pid) { return process(pid).own_anon().n >> 20; }
    std::uint64_t all() { return sum_own_anon(processes_).n >> 20; }

  private:
    void add(pid_t pid, pid_t parent, Bytes anon, bool forked) {
        Process made;
        made.task.id = {pid, now_ns_ + 1};
        made.task.parent = parent;
        made.task.memory = AddressSpace{.anon = anon};
        made.task.forked_without_exec = forked;
        processes_.insert(std::ranges::upper_bound(processes_, pid, {}, [](const Process& p) { return p.task.id.pid; }),
                          made);
    }

    OwnMemory own_{};
    std::vector<Process> processes_{};
    SharingReadings readings_{};
    std::map<ProcessId, Bytes> copied_{};
    std::uint64_t now_ns_ = 1'000'000'000;
};

// A trainer with 1000 MiB that forks eight workers while it is watched.
ForkedTree trainer_and_workers() {
    ForkedTree tree;
    tree.start(10, mib(1000));
    tree.tick();
    for (pid_t pid = 11; pid <= 18; ++pid) tree.fork(10, pid);
    tree.tick();
    return tree;
}

TEST(OwnMemory, AForkDuringAReadingSharesPagesThatWereReadAsPrivate) {
    ForkedTree tree = trainer_and_workers();
    tree.read(10, mib(1000));
    tree.reading_began_earlier(10);
    tree.tick();
    for (pid_t pid = 11; pid <= 18; ++pid) EXPECT_EQ(tree.own(pid), 0U) << pid;
    EXPECT_EQ(tree.all(), 1000U);
}

TEST(OwnMemory, AWorkerThatWasJustForkedHoldsNothing) {
    ForkedTree tree = trainer_and_workers();
    EXPECT_EQ(tree.own(10), 1000U);
    for (pid_t pid = 11; pid <= 18; ++pid) EXPECT_EQ(tree.own(pid), 0U) << pid;
    EXPECT_EQ(tree.all(), 1000U);
    EXPECT_TRUE(tree.process(11).own_known);
}

TEST(OwnMemory, CountsGrowthOfAWorkerButNotOfItsTrainer) {
    ForkedTree tree = trainer_and_workers();
    tree.anon(10) += mib(500);
    tree.anon(11) += mib(30);
    tree.tick();
    EXPECT_EQ(tree.own(11), 30U);
    EXPECT_EQ(tree.own(12), 0U);
    EXPECT_EQ(tree.all(), 1530U);
    tree.anon(11) = tree.anon(11) - mib(20);
    tree.tick();
    EXPECT_EQ(tree.own(11), 10U);
}

TEST(OwnMemory, WorkersThatAreForkedAnewDoNotHoldWhatTheTrainerLeaks) {
    ForkedTree tree = trainer_and_workers();
    for (pid_t epoch = 1; epoch <= 5; ++epoch) {
        for (pid_t i = 1; i <= 8; ++i) tree.exit(static_cast<pid_t>(10 * epoch + i));
        tree.anon(10) += mib(1000);
        tree.tick();
        for (pid_t i = 1; i <= 8; ++i) tree.fork(10, static_cast<pid_t>(10 * (epoch + 1) + i));
        tree.tick();
        EXPECT_EQ(tree.own(10 * (epoch + 1) + 1), 0U);
        EXPECT_EQ(tree.all(), 1000U * static_cast<unsigned>(epoch + 1));
    }
}

TEST(OwnMemory, PagesThatAWorkerCopiedAreItsOwnOnceTheyAreRead) {
    ForkedTree tree = trainer_and_workers();
    tree.read(11, mib(200));
    tree.tick();
    EXPECT_EQ(tree.own(11), 200U);
    tree.anon(11) += mib(5);  // growth before the next reading
    tree.tick();
    EXPECT_EQ(tree.own(11), 205U);
    EXPECT_EQ(tree.all(), 1205U);
}

TEST(OwnMemory, AddsCopiesFoundSinceTheReading) {
    ForkedTree tree = trainer_and_workers();
    tree.read(11, mib(200));
    tree.copied_since_read(11, mib(40));
    tree.tick();
    EXPECT_EQ(tree.own(11), 240U);
    tree.copied_since_read(12, mib(30));  // its pages were never read
    tree.tick();
    EXPECT_EQ(tree.own(12), 30U);
}

TEST(OwnMemory, SubtractsTheErrorOfASample) {
    ForkedTree tree = trainer_and_workers();
    tree.sample(11, mib(5));
    tree.tick();
    EXPECT_EQ(tree.own(11), 0U) << "half a percent is within the error of a sample";
    tree.sample(11, mib(200));
    tree.tick();
    EXPECT_EQ(tree.own(11), 190U) << "at least that";
}

TEST(OwnMemory, AnExecEndsAllSharing) {
    ForkedTree tree = trainer_and_workers();
    tree.process(11).task.forked_without_exec = false;
    tree.anon(11) = mib(50);
    tree.tick();
    EXPECT_EQ(tree.own(11), 50U);
}

TEST(OwnMemory, WorkersOlderThanTheWatcherAreUnknownUntilTheyAreRead) {
    ForkedTree tree;
    tree.start(10, mib(1000));
    tree.fork(10, 11);
    tree.anon(11) += mib(300);
    tree.anon(10) += mib(500);
    tree.tick();
    EXPECT_FALSE(tree.process(11).own_known);
    EXPECT_EQ(tree.own(11), 0U) << "its trainer has more memory, so all of it may be shared";
    tree.read(11, mib(350));
    tree.tick();
    EXPECT_TRUE(tree.process(11).own_known);
    EXPECT_EQ(tree.own(11), 350U);
}

TEST(OwnMemory, AForkedTrainerThatHasWorkersIsKnownOnceItIsRead) {
    ForkedTree tree;
    tree.start(10, mib(20));  // a launcher
    tree.fork(10, 11);
    tree.anon(11) = mib(400);
    tree.fork(11, 12);
    tree.tick();
    EXPECT_FALSE(tree.process(11).own_known);
    tree.read(11, mib(0));  // it shares all pages with its worker; pages from the launcher cannot be distinguished
    tree.tick();
    EXPECT_TRUE(tree.process(11).own_known);
    EXPECT_EQ(tree.own(11), 380U);
    EXPECT_EQ(tree.own(12), 0U);
    EXPECT_EQ(tree.all(), 400U);
}

TEST(OwnMemory, ASampleAfterAForkDoesNotReduceTheOwnMemoryOfTheParent) {
    ForkedTree tree = trainer_and_workers();
    tree.sample(11, mib(400));
    tree.tick();
    EXPECT_EQ(tree.own(11), 390U);
    tree.fork(11, 30);
    tree.tick();
    tree.sample(11, mib(0));  // all is shared with its child now
    tree.tick();
    EXPECT_EQ(tree.own(11), 390U);
}

TEST(OwnMemory, WaitsAMinuteForAReadingAndNoLonger) {
    ForkedTree tree;
    tree.start(10, mib(1000));
    tree.fork(10, 11);
    for (int i = 0; i < 60; ++i) tree.tick();
    EXPECT_FALSE(tree.process(11).own_known);
    tree.tick();
    EXPECT_TRUE(tree.process(11).own_known);
}

TEST(OwnMemory, PagesFreedByTheTrainerCountOnceForAllWorkers) {
    ForkedTree tree = trainer_and_workers();
    tree.anon(10) = mib(100);
    tree.tick();
    EXPECT_EQ(tree.all(), 1000U) << "100 MiB of the trainer, 900 MiB that only its workers still have";
    tree.exit(10);
    tree.tick();
    EXPECT_EQ(tree.all(), 1000U) << "each worker has all these pages, and they are the same pages";
}

TEST(OwnMemory, PagesThatTheTrainerRewroteAreThereTwice) {
    ForkedTree tree = trainer_and_workers();
    tree.tick();
    tree.read(10, mib(600));  // after the fork: it has copied 600 MiB by writing to them
    tree.tick();
    EXPECT_EQ(tree.all(), 1600U);
    for (pid_t pid = 11; pid <= 18; ++pid) {
        EXPECT_EQ(tree.own(pid), 75U) << "the pages are divided equally among the workers";
        EXPECT_EQ(tree.process(pid).orphaned, mib(75));
    }
    tree.fork(10, 19);  // shares all of them again
    tree.tick();
    EXPECT_EQ(tree.all(), 1600U) << "the pages that the older workers keep still count";
    EXPECT_EQ(tree.own(19), 0U);
}

TEST(OwnMemory, IgnoresAReadingFromBeforeTheFork) {
    ForkedTree tree;
    tree.start(10, mib(1000));
    tree.tick();
    tree.read(10, mib(1000));
    tree.tick();
    for (pid_t pid = 11; pid <= 18; ++pid) tree.fork(10, pid);
    tree.tick();
    EXPECT_EQ(tree.all(), 1000U);
}

TEST(OwnMemory, AChildOfAWorkerSharesWithItsLivingAncestors) {
    ForkedTree tree = trainer_and_workers();
    tree.anon(11) += mib(50);
    tree.tick();
    tree.fork(11, 30);
    tree.tick();
    EXPECT_EQ(tree.own(30), 0U);
    EXPECT_EQ(tree.all(), 1050U);
    tree.exit(11);
    tree.process(30).task.parent = 1;
    tree.tick();
    EXPECT_EQ(tree.all(), 1050U) << "50 MiB are its own now, the rest counts for the trainer";
    EXPECT_EQ(tree.own(30), 50U);
}

TEST(OwnMemory, ADaemonWhoseParentHasGoneHoldsItsMemory) {
    ForkedTree tree;
    tree.start(10, mib(20));
    tree.fork(10, 11);
    tree.exit(10);
    tree.process(11).task.parent = 1;
    tree.anon(11) = mib(800);
    tree.tick();
    EXPECT_EQ(tree.own(11), 800U);
}

}  // namespace own_memory_test
}  // namespace memscope
