#include <gtest/gtest.h>

#include "analysis/gpu/gpu_join.h"

namespace memscope {
namespace gpu_join_device_test {

const GpuUuid kUuid{1};
const std::string kDigits = "01000000-0000-0000-0000-000000000000";

GpuDevice device(const GpuId& id, std::vector<pid_t> pids = {}) {
    GpuDevice device{.id = id};
    for (const pid_t pid : pids) device.holders.push_back({pid, Bytes{1}});
    return device;
}

TEST(DeviceOfAnAccount, HasTheUuidThatTheDriverReturnedToTheProcess) {
    const std::vector devices{device("GPU-" + kDigits), device("GPU-other", {7})};
    EXPECT_EQ(device_of(kUuid, 7, devices), "GPU-" + kDigits);
    EXPECT_EQ(device_of(kUuid, 7, {}), "GPU-" + kDigits) << "even if NVML does not list the device";
}

TEST(DeviceOfAnAccount, MayBeAMigDevice) {
    EXPECT_EQ(device_of(kUuid, 7, {device("GPU-whole"), device("MIG-" + kDigits)}), "MIG-" + kDigits);
}

TEST(DeviceOfAnAccount, FallsBackToTheOnlyPossibleDevice) {
    EXPECT_EQ(device_of(std::nullopt, 7, {device("GPU-only")}), "GPU-only");
    EXPECT_EQ(device_of(std::nullopt, 7, {device("GPU-a", {6}), device("GPU-b", {6, 7})}), "GPU-b");
}

TEST(DeviceOfAnAccount, IsUnknownIfSeveralDevicesArePossible) {
    EXPECT_EQ(device_of(std::nullopt, 7, {device("GPU-a", {7}), device("GPU-b", {7})}), "");
    EXPECT_EQ(device_of(std::nullopt, 7, {device("GPU-a"), device("GPU-b")}), "");
    EXPECT_EQ(device_of(std::nullopt, 7, {}), "");
}

}  // namespace gpu_join_device_test
}  // namespace memscope
