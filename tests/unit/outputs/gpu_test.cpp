#include <gmock/gmock.h>

#include "example.h"
#include "outputs/json/tick_json.h"
#include "outputs/metrics/metric_table.h"
#include "outputs/text/gpu_text.h"
#include "outputs/text/notices.h"
#include "outputs/text/status_text.h"
#include "support/json.h"

namespace memscope {
namespace gpu_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using Json = nlohmann::json;

using Values = std::map<std::vector<std::string>, double>;

Values values(const Snapshot& snapshot, std::string_view name) {
    Values read;
    for (const Metric& metric : metric_table()) {
        if (metric.name != name) continue;
        Samples samples;
        metric.collect(snapshot, samples);
        for (const auto& sample : samples.all()) read[sample.labels] = sample.value;
    }
    return read;
}

double bytes(Bytes size) { return static_cast<double>(size.n); }

TEST(GpuMetrics, DevicesBelongToTheMachineAndMemoryIsByRole) {
    const Snapshot snapshot = test::example(true);
    EXPECT_THAT(values(snapshot, "memscope_gpu_info"),
                ElementsAre(Pair(ElementsAre("GPU-00", "0", "NVIDIA H200", "00000000:01:00.0"), 1),
                            Pair(ElementsAre("GPU-11", "1", "NVIDIA H200", ""), 1)));
    EXPECT_THAT(values(snapshot, "memscope_gpu_utilization_ratio"), ElementsAre(Pair(ElementsAre("GPU-00"), 0.97)));
    EXPECT_THAT(values(snapshot, "memscope_gpu_memory_total_bytes"),
                ElementsAre(Pair(ElementsAre("GPU-00"), bytes(test::gib(140)))));
    EXPECT_THAT(values(snapshot, "memscope_gpu_process_memory_bytes"),
                ElementsAre(Pair(ElementsAre("train", "trainer", "0", "GPU-00"), bytes(test::gib(60)))));
}

TEST(GpuMetrics, ALostDeviceKeepsItsCounterAndHasNoOtherValue) {
    const Snapshot snapshot = test::example(true);
    EXPECT_THAT(values(snapshot, "memscope_gpu_memory_used_bytes"),
                ElementsAre(Pair(ElementsAre("GPU-00"), bytes(test::gib(70)))));
    EXPECT_THAT(values(snapshot, "memscope_gpu_xid_errors_total"),
                ElementsAre(Pair(ElementsAre("GPU-00"), 0), Pair(ElementsAre("GPU-11"), 1)));
}

TEST(GpuMetrics, WithoutGpusThereIsNoSeries) {
    for (const Metric& metric : gpu_metrics()) EXPECT_THAT(values(test::example(), metric.name), IsEmpty());
}

TEST(GpuMetrics, AVerdictOfAGpuHasItsLabels) {
    Snapshot snapshot = test::example();
    ScopeVerdict gpu = snapshot.targets[0].verdicts[0];
    gpu.scope = VerdictScope::gpu;
    gpu.gpu = "GPU-00";
    snapshot.targets[0].verdicts.push_back(gpu);
    EXPECT_THAT(values(snapshot, "memscope_oom_eta_seconds"),
                Contains(Pair(ElementsAre("train", "gpu", "", "", "GPU-00", "leak"), 600)));
    const Json json = Json::parse(tick_json(snapshot, snapshot.targets[0]));
    EXPECT_EQ(json["verdicts"].back()["scope"], "gpu");
    EXPECT_EQ(json["verdicts"].back()["gpu"], "GPU-00");
    EXPECT_TRUE(json["verdicts"][0]["gpu"].is_null());
}

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
    EXPECT_THAT(values(snapshot, "memscope_gpu_tensor_bytes"),
                ElementsAre(Pair(ElementsAre("train", "trainer", "0", "GPU-00"), 70),
                            Pair(ElementsAre("train", "trainer", "2", "GPU-00"), 50)));
}

TEST(GpuText, CachedBytesAreShownIfKnownOfAllProcesses) {
    Snapshot snapshot = test::example(true);
    GpuUse& use = snapshot.targets[0].gpu->processes[101].devices["GPU-00"];
    use.reserved[0] = test::gib(50);
    use.tensors = test::gib(38);
    const auto text = [&] { return status_text(snapshot, snapshot.targets[0], false); };
    EXPECT_THAT(text(), HasSubstr("60 GiB here (12 GiB cached or fragmented), 10 GiB others"));
    snapshot.targets[0].gpu->processes[102].devices["GPU-00"].reserved[0] = Bytes{1};
    EXPECT_THAT(text(), Not(HasSubstr("cached")));
}

TEST(GpuText, StatusShowsDevicesAndWhatRolesHold) {
    const Snapshot snapshot = test::example(true);
    const std::string text = status_text(snapshot, snapshot.targets[0], false);
    EXPECT_THAT(text, HasSubstr("50 % of 140 GiB  NVIDIA H200"));
    EXPECT_THAT(text, HasSubstr("60 GiB here, 10 GiB others, 97 % busy"));
    EXPECT_THAT(text, HasSubstr("the GPU is lost"));
    EXPECT_THAT(text, HasSubstr("     GPU\n"));
    EXPECT_THAT(text, HasSubstr("  60 GiB\n"));
}

TEST(GpuText, WithoutGpusStatusDoesNotMentionThem) {
    const Snapshot snapshot = test::example();
    EXPECT_THAT(status_text(snapshot, snapshot.targets[0], false), Not(HasSubstr("GPU")));
}

TEST(GpuText, PartsOfAGpuAreNumberedWithinIt) {
    Snapshot snapshot = test::example(true);
    for (const char* id : {"MIG-a", "MIG-b"}) {
        GpuDevice part{.id = id, .index = 1};
        part.part_of = "GPU-11";
        snapshot.gpus.push_back(part);
    }
    std::vector<std::string> names;
    for (const GpuLine& line : gpu_lines(snapshot, snapshot.targets[0])) names.push_back(line.name);
    EXPECT_THAT(names, ElementsAre("GPU 0", "GPU 1", "MIG 1.0", "MIG 1.1"));
}

TEST(GpuNotices, ADeviceThatStopsAnsweringHasOneLineAndSoHasItsReturn) {
    Snapshot before = test::example(true);
    before.gpus[1].trouble.clear();
    before.gpus[1].xid_errors = 0;
    const Snapshot now = test::example(true);
    EXPECT_THAT(test::notices(&before, now),
                ElementsAre("memscope: GPU 1 (NVIDIA H200) does not answer: the GPU is lost",
                            HasSubstr("GPU 1 (NVIDIA H200) had 1 critical error (Xid")));
    EXPECT_THAT(test::notices(&now, now), IsEmpty());
    Snapshot back = now;
    back.gpus[1].trouble.clear();
    EXPECT_THAT(test::notices(&now, back), ElementsAre("memscope: GPU 1 (NVIDIA H200) answers again"));
}

TEST(GpuNotices, AGpuThatBeginsToLeakHasALine) {
    const Snapshot before = test::example();
    Snapshot now = before;
    ScopeVerdict gpu = now.targets[0].verdicts[0];
    gpu.scope = VerdictScope::gpu;
    gpu.gpu = "GPU-00";
    gpu.explanation = "GPU 0: The floor has risen.";
    now.targets[0].verdicts.push_back(gpu);
    EXPECT_THAT(test::notices(&before, now), ElementsAre("train: leaking: GPU 0: The floor has risen."));
    EXPECT_THAT(test::notices(&now, now), IsEmpty());
}

}  // namespace gpu_test
}  // namespace memscope
