#include "watch/gpu/nvml_watch.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <set>
#include <string>
#include <thread>

#include "sources/gpu/nvml_abi.h"
#include "support/fake_nvml.h"
#include "watch/clock.h"

namespace memscope {
namespace nvml_watch_test {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

std::set<std::string> threads() {
    std::set<std::string> ids;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ids.insert(task.path().filename());
    return ids;
}

// By thread id, because the detached thread of an earlier poller can still be exiting, and then the number of threads
// falls during a test.
std::set<std::string> threads_started_after(const std::set<std::string>& before) {
    std::set<std::string> started = threads();
    for (const auto& id : before) started.erase(id);
    return started;
}

FakeNvml& machine() {
    FakeNvml& fake = fake_nvml();
    fake.init_code = nvml::kSuccess;
    fake.hangs = false;
    fake.device_count = 1;
    fake.devices[0].uuid = "GPU-00";
    fake.devices[0].code = nvml::kSuccess;
    fake.devices[0].total = 80 * kGiB;
    fake.devices[0].used = 5 * kGiB;
    fake.devices[0].compute_count = 1;
    fake.devices[0].compute[0] = {101, 4 * kGiB};
    return fake;
}

TrackedProcess tracked(pid_t pid, std::uint64_t start_ns) {
    TrackedProcess process;
    process.task.id = {pid, start_ns};
    return process;
}

std::vector<Process> shown(const ProcessTable& table) {
    std::vector<Process> all;
    for (const auto& [pid, process] : table.living()) {
        Process one;
        one.task = process.task;
        one.role = Role::trainer;
        all.push_back(one);
    }
    return all;
}

// Ticks until the driver has answered.
void tick_until_devices(NvmlWatch& watch, ProcessTable& table) {
    for (int i = 0; i < 1000 && watch.devices().empty(); ++i) {
        watch.tick(read_clock().boot_ns, table);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

TEST(NvmlWatch, JoinsWhatTheDriverSaysToTheProcessesOfATarget) {
    machine();
    ProcessTable table(0);
    table.living()[101] = tracked(101, 5);
    table.living()[102] = tracked(102, 5);
    NvmlWatch watch({.library = fake_nvml_path("full")});
    tick_until_devices(watch, table);
    ASSERT_THAT(watch.devices(), SizeIs(1));
    const auto gpu = watch.of(shown(table));
    ASSERT_TRUE(gpu);
    ASSERT_THAT(gpu->processes, SizeIs(1));
    EXPECT_EQ(gpu->processes.at(101).devices.at("GPU-00").used, Bytes{4 * kGiB});
    EXPECT_EQ(gpu->roles.at({{Role::trainer, {}}, "GPU-00"}).used, Bytes{4 * kGiB});
    EXPECT_TRUE(table.living()[101].gpu_context);
    EXPECT_EQ(table.living()[101].gpu_index, 0);
    EXPECT_FALSE(table.living()[102].gpu_context);
}

TEST(NvmlWatch, MatchesNoProcessInAnotherPidNamespace) {
    machine();
    ProcessTable table(0);
    table.living()[101] = tracked(101, 5);
    NvmlWatch watch({.library = fake_nvml_path("full"), .host_pids = false});
    tick_until_devices(watch, table);
    ASSERT_THAT(watch.devices(), SizeIs(1)) << "devices are the machine's all the same";
    EXPECT_FALSE(watch.of(shown(table)));
    EXPECT_FALSE(table.living()[101].gpu_context);
}

TEST(NvmlWatch, AReusedPidIsNotTheProcessThatTheDriverKnows) {
    machine();
    ProcessTable table(0);
    NvmlWatch watch({.library = fake_nvml_path("full")});
    tick_until_devices(watch, table);
    table.living()[101] = tracked(101, read_clock().boot_ns + 1'000'000'000);
    watch.tick(read_clock().boot_ns, table);
    EXPECT_FALSE(watch.of(shown(table)));
    EXPECT_FALSE(table.living()[101].gpu_context);
}

TEST(NvmlWatch, WithoutADriverThereIsNoThread) {
    ProcessTable table(0);
    const std::set<std::string> before = threads();
    NvmlWatch watch({.library = "libnvidia-ml-that-is-not-here.so.1"});
    for (int i = 0; i < 3; ++i) watch.tick(read_clock().boot_ns, table);
    EXPECT_THAT(threads_started_after(before), IsEmpty());
    EXPECT_THAT(watch.devices(), IsEmpty());
    EXPECT_FALSE(watch.of({}));
}

TEST(NvmlWatch, ADriverThatHangsShowsNothingAndDelaysNothing) {
    FakeNvml& fake = machine();
    fake.hangs = true;
    ProcessTable table(0);
    const std::uint64_t before = read_clock().boot_ns;
    {
        NvmlWatch watch({.library = fake_nvml_path("full")});
        for (int i = 0; i < 5; ++i) watch.tick(read_clock().boot_ns, table);
        EXPECT_THAT(watch.devices(), IsEmpty());
    }
    EXPECT_LT(read_clock().boot_ns - before, 3'000'000'000U);
    fake.hangs = false;
}

}  // namespace nvml_watch_test
}  // namespace memscope
