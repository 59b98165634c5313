#include "outputs/metrics/metric_table.h"

#include <gmock/gmock.h>
#include <set>

#include "example.h"

namespace memscope {
namespace metric_table_test {

using testing::Contains;
using testing::Not;

TEST(MetricTable, EveryNameBeginsWithMemscopeOrProcess) {
    for (const Metric& metric : metric_table())
        EXPECT_TRUE(metric.name.starts_with("memscope_") || metric.name.starts_with("process_")) << metric.name;
}

TEST(MetricTable, CountersAndOnlyCountersEndInTotal) {
    for (const Metric& metric : metric_table())
        EXPECT_EQ(metric.name.ends_with("_total"), metric.kind == MetricKind::counter) << metric.name;
}

TEST(MetricTable, EachNameIsUnique) {
    std::set<std::string_view> names;
    for (const Metric& metric : metric_table()) EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
}

TEST(MetricTable, UnitsAreBaseUnits) {
    for (const Metric& metric : metric_table())
        for (const auto* unit : {"_kb", "_kib", "_mb", "_mib", "_ms", "_milliseconds", "_percent", "_pages"})
            EXPECT_EQ(metric.name.find(unit), std::string_view::npos) << metric.name;
}

TEST(MetricTable, EveryLabelIsFromABoundedSet) {
    const std::set<std::string_view> bounded = {
        "target",  "kind",    "cgroup_version", "event",        "role",       "rank",  "type",
        "reason",  "probe",   "version",        "architecture", "compiler",   "call",  "scope",
        "gpu",     "verdict", "basis",          "precursor",    "constraint", "cause", "sender",
        "outcome", "index",   "name",           "pci_bus_id",   "api",        "owner", "part"};
    for (const Metric& metric : metric_table())
        for (const auto name : metric.label_names()) EXPECT_TRUE(bounded.contains(name)) << metric.name << " " << name;
}

TEST(MetricTable, HelpIsOneSentenceThatNeedsNoEscape) {  // the serializer writes it as it is
    for (const Metric& metric : metric_table()) {
        EXPECT_TRUE(metric.help.ends_with('.')) << metric.name;
        EXPECT_EQ(metric.help.find_first_of("\n\\|"), std::string_view::npos) << metric.name;
    }
}

// GPU memory that processes allocate by calls of the CUDA driver.
void add_cuda_calls(TargetGpu& gpu) {
    const RoleKey trainer{Role::trainer, 0};
    GpuUse& use = gpu.roles[{trainer, "GPU-00"}];
    use.reserved[0] = test::gib(50);
    use.tensors = test::gib(40);
    gpu.pinned[trainer].by_kind[0] = test::gib(1);
    gpu.failures[{trainer, "GPU-00"}] = 1;
}

TEST(MetricTable, EveryReaderFillsExactlyItsLabels) {
    Snapshot snapshot = test::example(true);
    snapshot.targets[0].death_tally.add({});
    snapshot.self.recording = RecordingState{.up = true, .bytes = test::gib(1)};
    add_cuda_calls(snapshot.targets[0].gpu.value());
    snapshot.targets[0].heap = {test::heap(101, {Role::trainer, 0}, snapshot.time - 60, test::gib(11), test::gib(20))};
    for (const Metric& metric : metric_table()) {
        Samples samples;
        metric.collect(snapshot, samples);
        EXPECT_FALSE(samples.all().empty()) << metric.name << " has no value in a complete snapshot";
        for (const auto& sample : samples.all())
            EXPECT_EQ(sample.labels.size(), metric.label_names().size()) << metric.name;
    }
}

TEST(MetricTable, EachSeriesIsUniqueEvenIfNamesDifferOnlyInBrokenBytes) {
    Snapshot snapshot = test::example();
    snapshot.targets = {test::training("a\xff"), test::training("a\xfe"), test::training("a\xef\xbf\xbd")};
    EXPECT_THAT(target_labels(snapshot), testing::ElementsAre("a\uFFFD", "a\uFFFD#2", "a\uFFFD#3"));
    for (const Metric& metric : metric_table()) {
        Samples samples;
        metric.collect(snapshot, samples);
        std::set<std::vector<std::string>> seen;
        for (const auto& sample : samples.all()) EXPECT_TRUE(seen.insert(sample.labels).second) << metric.name;
    }
}

}  // namespace metric_table_test
}  // namespace memscope
