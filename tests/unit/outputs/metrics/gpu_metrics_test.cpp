#include <gmock/gmock.h>

#include "example.h"
#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace gpu_metrics_test {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

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

TEST(GpuMetrics, TensorBytesExistOnlyForRolesWithTensors) {
    Snapshot snapshot = test::example();
    auto& roles = snapshot.targets[0].gpu.emplace().roles;
    roles[{{Role::trainer, 0}, "GPU-00"}].tensors = Bytes{70};
    roles[{{Role::trainer, 1}, "GPU-00"}].reserved[0] = Bytes{50};
    roles[{{Role::trainer, 2}, "GPU-00"}].tensors = Bytes{50};
    EXPECT_THAT(values(snapshot, "memscope_gpu_tensor_bytes"),
                ElementsAre(Pair(ElementsAre("train", "trainer", "0", "GPU-00"), 70),
                            Pair(ElementsAre("train", "trainer", "2", "GPU-00"), 50)));
}

TEST(GpuMetrics, AVerdictOfAGpuHasItsLabels) {
    Snapshot snapshot = test::example();
    ScopeVerdict gpu = snapshot.targets[0].verdicts[0];
    gpu.scope = VerdictScope::gpu;
    gpu.gpu = "GPU-00";
    snapshot.targets[0].verdicts.push_back(gpu);
    EXPECT_THAT(values(snapshot, "memscope_oom_eta_seconds"),
                Contains(Pair(ElementsAre("train", "gpu", "", "", "GPU-00", "leak"), 600)));
}

}  // namespace gpu_metrics_test
}  // namespace memscope
