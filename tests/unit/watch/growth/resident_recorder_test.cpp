#include "watch/growth/resident_recorder.h"

#include <gtest/gtest.h>

namespace memscope {
namespace resident_recorder_test {

constexpr std::int64_t kWeight = 512 << 10;
constexpr std::size_t kEach = 40'000;

std::int64_t bytes_of(const ResidentRecorder& recorder, const Process& process) {
    std::int64_t sum = 0;
    for (const HeldAtStack& held : recorder.held(process.task.id)) sum += held.bytes;
    return sum;
}

TEST(ResidentRecorder, BoundingTheSamplesOfATargetKeepsTheirBytes) {
    ResidentRecorder recorder(nullptr);
    std::vector<Process> processes(3);
    for (std::size_t p = 0; p < processes.size(); ++p) {
        processes[p].task.id = {static_cast<pid_t>(100 + p), 1};
        for (std::uint64_t i = 1; i <= kEach; ++i)
            recorder.add({.space = SpaceId{p},
                          .process = processes[p].task.id,
                          .time_ns = i,
                          .address = i << 20U,
                          .stack = StackId{7},
                          .bytes = kWeight});
    }
    recorder.ranges_drained();
    ASSERT_EQ(recorder.sample_count(processes), processes.size() * kEach);
    recorder.bound(processes);
    EXPECT_LE(recorder.sample_count(processes), ResidentRecorder::kMostOfTarget);
    EXPECT_GE(recorder.sample_count(processes), ResidentRecorder::kMostOfTarget / 2);
    for (const Process& process : processes)
        EXPECT_NEAR(static_cast<double>(bytes_of(recorder, process)), 1.0 * kEach * kWeight, 0.001 * kEach * kWeight);
}

}  // namespace resident_recorder_test
}  // namespace memscope
