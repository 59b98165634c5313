#include <gtest/gtest.h>

#include "watch/targets/target_state.h"

namespace memscope {
namespace target_state_precursors_test {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr CgroupId kJob{7};
const HostMemory kHost{.total = {256 * kGiB}, .available = {100 * kGiB}};

TargetSnapshot job(const std::vector<pid_t>& pids, double pressure_full) {
    TargetSnapshot target;
    for (const pid_t pid : pids) {
        Process process;
        process.task.id = {pid, static_cast<std::uint64_t>(pid)};
        process.task.memory = AddressSpace{.anon = {kGiB}};
        process.role = Role::trainer;
        target.processes.push_back(process);
    }
    target.memory.unreclaimable = {kGiB * pids.size()};
    target.memory.pressure = Pressure{.full_avg10 = pressure_full};
    return target;
}

// One target, judged every second as the collector does it.
class Watching {
  public:
    const std::vector<Precursor>& tick(TargetSnapshot target) {
        ++seconds_;
        const Now now{.unix_seconds = 1.7e9 + static_cast<double>(seconds_), .boot_ns = seconds_ * kSecond};
        watched_.judge.consider(std::chrono::nanoseconds(now.boot_ns), Seconds(now.unix_seconds), target);
        return standing_ = watched_.find_precursors(target, kHost, now);
    }

  private:
    std::uint64_t seconds_ = 1000;
    TargetState watched_{{.id = kJob}, {}, std::make_shared<RunNumbers>()};
    std::vector<Precursor> standing_{};
};

TEST(TargetPrecursors, APrecursorWithoutAReasonStaysForAWhileIfTheJobLives) {
    Watching watching;
    ASSERT_EQ(watching.tick(job({10}, 0.5)).size(), 1U);
    EXPECT_EQ(watching.tick(job({10}, 0)).size(), 1U);
}

TEST(TargetPrecursors, APrecursorWithoutAReasonIsOverAtOnceIfTheJobIsGone) {
    Watching watching;
    ASSERT_EQ(watching.tick(job({10}, 0.5)).size(), 1U);
    EXPECT_TRUE(watching.tick(job({}, 0)).empty());
}

TEST(TargetPrecursors, APrecursorWithoutAReasonIsOverAtOnceIfAnotherProcessHasReplacedTheJob) {
    Watching watching;
    ASSERT_EQ(watching.tick(job({10}, 0.5)).size(), 1U);
    EXPECT_TRUE(watching.tick(job({11}, 0)).empty());
}

TEST(TargetPrecursors, SinceIsATimeSince1970) {
    Watching watching;
    ASSERT_EQ(watching.tick(job({10}, 0.5)).size(), 1U);
    const auto& standing = watching.tick(job({10}, 0.5));
    ASSERT_EQ(standing.size(), 1U);
    EXPECT_DOUBLE_EQ(standing.front().since, 1.7e9 + 1001);
}

}  // namespace target_state_precursors_test
}  // namespace memscope
