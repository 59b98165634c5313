// Processes that a driver reports, matched with those of a real cgroup. The driver is a fake one that is linked into
// this program, so that the test needs no GPU.
#include <thread>

#include "kernel/watched.h"
#include "sources/gpu/nvml_abi.h"
#define FAKE_NVML ""
#include "support/fake_nvml.h"

extern "C" FakeNvml* fake_nvml_state();

namespace memscope {
namespace gpu_nvml_test {

constexpr const char* kThisProgram = "";  // with an empty name, dlopen() returns this program
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

FakeNvml& machine(pid_t holder) {
    FakeNvml& fake = *fake_nvml_state();
    fake.hangs = false;
    fake.device_count = 1;
    fake.devices[0].uuid = "GPU-00";
    fake.devices[0].total = 80 * kGiB;
    fake.devices[0].used = 5 * kGiB;
    fake.devices[0].compute_count = 2;
    fake.devices[0].compute[0] = {static_cast<unsigned>(holder), 3 * kGiB};
    fake.devices[0].compute[1] = {static_cast<unsigned>(::getpid()), kGiB};
    return fake;
}

// Ticks until the driver has been read, or until a timeout.
const TargetSnapshot& tick_until_heard(Watched& watched, const RealCgroup& cgroup) {
    const TargetSnapshot* target = &watched.tick(cgroup);
    for (int i = 0; i < 500 && !target->gpu; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        target = &watched.tick(cgroup);
    }
    return *target;
}

TEST(GpuNvml, TheMemoryOfAGpuIsCountedForItsHoldersInTheTarget) {
    const RealCgroup cgroup("gpu");
    Child child(cgroup, sleeper);
    child.heard();
    machine(child.pid());
    Watched watched = Watched::on(gather_kernel_facts({}), {.cgroups = {cgroup.name()}, .nvml = kThisProgram});
    const TargetSnapshot& target = tick_until_heard(watched, cgroup);
    ASSERT_TRUE(target.gpu);
    ASSERT_EQ(target.gpu->processes.size(), 1U) << "the other one is not in the target";
    EXPECT_EQ(target.gpu->processes.at(child.pid()).devices.at("GPU-00").used, Bytes{3 * kGiB});
    EXPECT_EQ(target.processes.front().role, Role::trainer) << "a process on a GPU is a trainer";
    ASSERT_EQ(watched.latest().gpus.size(), 1U);
    EXPECT_EQ(watched.latest().gpus[0].used, Bytes{5 * kGiB});
}

TEST(GpuNvml, SwitchedOffTheDriverIsNotQueried) {
    const RealCgroup cgroup("nogpu");
    Child child(cgroup, sleeper);
    child.heard();
    FakeNvml& fake = machine(child.pid());
    const int calls = fake.calls;
    Watched watched =
        Watched::on(gather_kernel_facts({}), {.cgroups = {cgroup.name()}, .gpu = false, .nvml = kThisProgram});
    watched.tick(cgroup);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(watched.tick(cgroup).gpu);
    EXPECT_TRUE(watched.latest().gpus.empty());
    EXPECT_EQ(fake.calls, calls);
}

TEST(GpuNvml, ADriverThatHangsDelaysNoTickAndNotTheEnd) {
    const RealCgroup cgroup("hung");
    Child child(cgroup, sleeper);
    child.heard();
    machine(child.pid()).hangs = true;
    const std::uint64_t before = read_clock().boot_ns;
    {
        Watched watched = Watched::on(gather_kernel_facts({}), {.cgroups = {cgroup.name()}, .nvml = kThisProgram});
        const std::uint64_t began = read_clock().boot_ns;
        for (int i = 0; i < 10; ++i) watched.tick(cgroup);
        EXPECT_LT(read_clock().boot_ns - began, 5'000'000'000U);
    }
    EXPECT_LT(read_clock().boot_ns - before, 60'000'000'000U);
    fake_nvml_state()->hangs = false;
}

}  // namespace gpu_nvml_test
}  // namespace memscope
