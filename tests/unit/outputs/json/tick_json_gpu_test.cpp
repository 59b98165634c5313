#include <gtest/gtest.h>

#include "example.h"
#include "outputs/json/tick_json.h"
#include "support/json.h"

namespace memscope {
namespace tick_json_gpu_test {

using Json = nlohmann::json;

TEST(GpuJson, HasDevicesRolesAndProcesses) {
    const Snapshot snapshot = test::example(true);
    const Json gpu = Json::parse(tick_json(snapshot, snapshot.targets[0]))["gpu"];
    ASSERT_EQ(gpu["devices"].size(), 2);
    EXPECT_EQ(gpu["devices"][0]["used_bytes"], test::gib(70).n);
    EXPECT_EQ(gpu["devices"][0]["free_bytes"], test::gib(69).n);
    EXPECT_EQ(gpu["devices"][0]["driver_reserved_bytes"], test::gib(1).n);
    EXPECT_EQ(gpu["devices"][0]["target_bytes"], test::gib(60).n);
    EXPECT_EQ(gpu["devices"][0]["others_bytes"], test::gib(10).n);
    EXPECT_TRUE(gpu["devices"][0]["trouble"].is_null());
    EXPECT_EQ(gpu["devices"][1]["trouble"], "the GPU is lost");
    for (const auto* key : {"used_bytes", "free_bytes", "driver_reserved_bytes", "total_bytes", "others_bytes",
                            "utilization_ratio", "target_bytes"})
        EXPECT_TRUE(gpu["devices"][1].at(key).is_null()) << key;
    EXPECT_EQ(gpu["roles"][0]["role"], "trainer");
    EXPECT_EQ(gpu["roles"][0]["used_bytes"], test::gib(60).n);
    EXPECT_FALSE(gpu["roles"][0].contains("reserved_bytes"));
    EXPECT_EQ(gpu["processes"][0]["pid"], 101);
    EXPECT_EQ(gpu["processes"][0]["gpu"], "GPU-00");
}

TEST(GpuJson, FiguresOfCudaCallsArePresentIfKnown) {
    Snapshot snapshot = test::example();
    TargetGpu& held = snapshot.targets[0].gpu.emplace();
    held.roles[{{Role::trainer, {}}, ""}].reserved[1] = Bytes{7};
    held.pinned[{Role::trainer, {}}].by_kind[1] = Bytes{8};
    held.failures[{{Role::trainer, {}}, "GPU-00"}] = 2;
    const Json gpu = Json::parse(tick_json(snapshot, snapshot.targets[0]))["gpu"];
    EXPECT_TRUE(gpu["devices"].empty());
    EXPECT_TRUE(gpu["roles"][0]["gpu"].is_null()) << "on a device that nobody knows";
    EXPECT_EQ(gpu["roles"][0]["reserved_bytes"]["vmm"], 7);
    EXPECT_EQ(gpu["pinned"][0]["bytes"]["register"], 8);
    EXPECT_EQ(gpu["failures"][0]["count"], 2);
}

TEST(GpuJson, HasTensorsAndCachedBytesIfBothAreKnown) {
    Snapshot snapshot = test::example();
    auto& roles = snapshot.targets[0].gpu.emplace().roles;
    GpuUse& known = roles[{{Role::trainer, 0}, "GPU-00"}];
    known.reserved = {Bytes{50}, Bytes{50}};
    known.tensors = Bytes{70};
    roles[{{Role::trainer, 1}, "GPU-00"}].reserved[0] = Bytes{50};
    roles[{{Role::trainer, 2}, "GPU-00"}].tensors = Bytes{50};
    const Json gpu = Json::parse(tick_json(snapshot, snapshot.targets[0]))["gpu"];
    EXPECT_EQ(gpu["roles"][0]["tensor_bytes"], 70);
    EXPECT_EQ(gpu["roles"][0]["cached_bytes"], 30);
    for (const auto* key : {"tensor_bytes", "cached_bytes"}) EXPECT_FALSE(gpu["roles"][1].contains(key)) << key;
    EXPECT_FALSE(gpu["roles"][2].contains("cached_bytes")) << "of a driver that is not followed";
}

TEST(GpuJson, AVerdictOfAGpuHasTheIdOfTheGpu) {
    Snapshot snapshot = test::example();
    ScopeVerdict gpu = snapshot.targets[0].verdicts[0];
    gpu.scope = VerdictScope::gpu;
    gpu.gpu = "GPU-00";
    snapshot.targets[0].verdicts.push_back(gpu);
    const Json json = Json::parse(tick_json(snapshot, snapshot.targets[0]));
    EXPECT_EQ(json["verdicts"].back()["scope"], "gpu");
    EXPECT_EQ(json["verdicts"].back()["gpu"], "GPU-00");
    EXPECT_TRUE(json["verdicts"][0]["gpu"].is_null());
}

}  // namespace tick_json_gpu_test
}  // namespace memscope
