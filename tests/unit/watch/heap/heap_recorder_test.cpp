#include "watch/heap/heap_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <thread>

namespace memscope {
namespace heap_recorder_test {

constexpr ProcessId kTrainer{100, 5};
constexpr ProcessId kWorker{101, 6};
constexpr Bytes kSize{1 << 30};

// A helper that answers when the test says so.
struct Helper {
    std::vector<HeapJob> asked{};  // each job once
    bool answers = true;
    std::optional<Error> fails{};

    HeapRecorder::Read read() {
        return [this](const HeapJob& job) -> std::optional<Result<HeapCensus>> {
            if (asked.empty() || asked.back().number != job.number) asked.push_back(job);
            if (!answers) return std::nullopt;
            if (fails) return Result<HeapCensus>(*fails);
            return Result<HeapCensus>(HeapCensus{.process = {job.pid, 0}, .taken = Seconds{0.1}, .anon = kSize});
        };
    }
};

ProcessTable::Living living(const std::vector<ProcessId>& ids) {
    ProcessTable::Living all;
    for (const ProcessId& id : ids) {
        all[id.pid].task.id = id;
        all[id.pid].task.memory = AddressSpace{.anon = kSize};
    }
    return all;
}

TEST(HeapRecorder, TakesOneCensusAtATimeAndNamesItsProcess) {
    Helper helper{.answers = false};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    const auto both = living({kTrainer, kWorker});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}, {kWorker, kSize, true}});
    recorder.pump(Seconds{1}, both);
    recorder.pump(Seconds{2}, both);
    EXPECT_EQ(helper.asked.size(), 1U);
    EXPECT_TRUE(recorder.take_taken().empty());
    helper.answers = true;
    recorder.pump(Seconds{3}, both);
    EXPECT_EQ(helper.asked.size(), 2U);
    const auto taken = recorder.take_taken();
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[0].process, kTrainer) << "with the start time of the process table";
    EXPECT_EQ(taken[1].process, kWorker);
    EXPECT_TRUE(recorder.take_taken().empty());
}

TEST(HeapRecorder, ObjectsAreReadWhereTheyAreWantedAndAlwaysForAUser) {
    Helper helper;
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    const auto both = living({kTrainer, kWorker});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true, true}, {kWorker, kSize, true, false}});
    recorder.pump(Seconds{1}, both);
    ASSERT_EQ(helper.asked.size(), 2U);
    EXPECT_TRUE(helper.asked[0].objects);
    EXPECT_FALSE(helper.asked[1].objects);
    std::thread user([&] { (void)recorder.take({kWorker}); });
    pollfd wanted{.fd = recorder.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&wanted, 1, 60'000), 1);
    recorder.pump(Seconds{2}, both);
    user.join();
    ASSERT_EQ(helper.asked.size(), 3U);
    EXPECT_TRUE(helper.asked[2].objects);
}

TEST(HeapRecorder, ACensusIsCompletedForTheTargetAndForTheUser) {
    Helper helper;
    HeapRecorder recorder(helper.read(), [](HeapCensus& census) {
        EXPECT_EQ(census.process, kTrainer) << "ranges belong to the process with this start time";
        census.mappings.push_back({.mapped_at = "load (train.py:88)"});
    });
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}});
    recorder.pump(Seconds{1}, living({kTrainer}));
    const auto taken = recorder.take_taken();
    ASSERT_EQ(taken.size(), 1U);
    ASSERT_EQ(taken[0].mappings.size(), 1U);
    EXPECT_EQ(taken[0].mappings[0].mapped_at, "load (train.py:88)");
}

TEST(HeapRecorder, ACensusThatNeedsMoreMemoryThanTheHelperHasIsReportedOnceForAProcess) {
    Helper helper{.fails = system_error(ENOMEM, "take a heap census of process 100")};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {}, Seconds{0});
    const auto both = living({kTrainer, kWorker});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}});
    recorder.pump(Seconds{1}, both);
    const auto troubles = recorder.take_troubles();
    ASSERT_EQ(troubles.size(), 1U);
    EXPECT_EQ(troubles[0].where, "take a heap census of process 100");
    recorder.want(Seconds{1000}, {{kTrainer, kSize, true}});
    recorder.pump(Seconds{1000}, both);
    EXPECT_EQ(helper.asked.size(), 2U);
    EXPECT_TRUE(recorder.take_troubles().empty()) << "the same process";
    recorder.want(Seconds{2000}, {{kWorker, kSize, true}});
    recorder.pump(Seconds{2000}, both);
    EXPECT_EQ(recorder.take_troubles().size(), 1U) << "another process";
    helper.fails = system_error(ESRCH, "take a heap census of process 101");
    recorder.want(Seconds{3000}, {{kWorker, kSize, true}});
    recorder.pump(Seconds{3000}, both);
    EXPECT_TRUE(recorder.take_troubles().empty()) << "a process that has ended is no trouble";
}

TEST(HeapRecorder, ACensusOfAProcessThatEndedMeanwhileIsNotUsed) {
    Helper helper{.answers = false};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}});
    recorder.pump(Seconds{1}, living({kTrainer}));
    helper.answers = true;
    recorder.pump(Seconds{2}, living({{kTrainer.pid, kTrainer.start_ns + 1}}));  // another process with the same pid
    EXPECT_TRUE(recorder.take_taken().empty());
}

TEST(HeapRecorder, AFailedCensusIsNotRepeatedAtOnce) {
    Helper helper{.fails = system_error(ETIMEDOUT, "read")};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    const auto one = living({kTrainer});
    for (double now = 1; now < 300; now += 1) {
        recorder.want(Seconds{now}, {{kTrainer, kSize, true}});
        recorder.pump(Seconds{now}, one);
    }
    EXPECT_EQ(helper.asked.size(), 1U);
    EXPECT_TRUE(recorder.take_taken().empty());
}

// Requests censuses from another thread. The constructor waits for the event that wakes the thread of the ticks.
struct Asking {
    explicit Asking(HeapRecorder& recorder, std::vector<ProcessId> processes)
        : thread([this, &recorder, processes = std::move(processes)] { answers = recorder.take(processes); }) {
        pollfd wanted{recorder.fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&wanted, 1, 60'000), 1);
    }
    std::vector<Result<HeapCensus>> answers{};
    std::thread thread;
};

TEST(HeapRecorder, AUserGetsACensusAtOnceAndTheTargetGetsItToo) {
    Helper helper;
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    const auto one = living({kTrainer});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}});
    recorder.pump(Seconds{1}, one);
    EXPECT_EQ(recorder.take_taken().size(), 1U);
    Asking asking(recorder, {kTrainer, kWorker});
    recorder.pump(Seconds{2}, one);
    asking.thread.join();
    ASSERT_EQ(asking.answers.size(), 2U);
    ASSERT_TRUE(asking.answers[0]) << "though the last census is a second old";
    EXPECT_EQ(asking.answers[0]->process, kTrainer);
    ASSERT_FALSE(asking.answers[1]);
    EXPECT_EQ(asking.answers[1].error().code, std::errc::no_such_process);
    EXPECT_EQ(recorder.take_taken().size(), 1U);
}

TEST(HeapRecorder, AUserComesBeforeCensusesThatWait) {
    Helper helper{.answers = false};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    const ProcessId third{102, 7};
    const auto all = living({kTrainer, kWorker, third});
    recorder.want(Seconds{1}, {{kTrainer, kSize, true}, {kWorker, kSize, true}});
    recorder.pump(Seconds{1}, all);
    Asking asking(recorder, {third});
    helper.answers = true;
    recorder.pump(Seconds{2}, all);
    asking.thread.join();
    ASSERT_EQ(helper.asked.size(), 3U);
    EXPECT_EQ(helper.asked[1].pid, third.pid);
}

TEST(HeapRecorder, AUserDoesNotWaitForAWatcherThatEnds) {
    Helper helper{.answers = false};
    HeapRecorder recorder(helper.read(), [](HeapCensus&) {});
    Asking asking(recorder, {kTrainer});
    recorder.pump(Seconds{1}, living({kTrainer}));
    recorder.stop_waiting();
    asking.thread.join();
    ASSERT_EQ(asking.answers.size(), 1U);
    EXPECT_EQ(asking.answers[0].error().code, std::errc::operation_canceled);
    EXPECT_FALSE(recorder.take({kTrainer}).front());
}

}  // namespace heap_recorder_test
}  // namespace memscope
