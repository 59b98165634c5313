#include "outputs/text/gpu_text.h"

#include <gmock/gmock.h>

#include "example.h"
#include "outputs/text/status_text.h"

namespace memscope {
namespace gpu_text_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(GpuText, CachedBytesAreShownIfKnownOfAllProcesses) {
    Snapshot snapshot = test::example(true);
    GpuUse& use = snapshot.targets[0].gpu->processes[101].devices["GPU-00"];
    use.reserved[0] = test::gib(50);
    use.tensors = test::gib(38);
    const auto text = [&] { return status_text(snapshot, snapshot.targets[0], false); };
    EXPECT_THAT(text(), HasSubstr("target 60 GiB (12 GiB cached or fragmented), others 10 GiB"));
    snapshot.targets[0].gpu->processes[102].devices["GPU-00"].reserved[0] = Bytes{1};
    EXPECT_THAT(text(), Not(HasSubstr("cached")));
}

TEST(GpuText, StatusShowsDevicesAndWhatRolesHold) {
    const Snapshot snapshot = test::example(true);
    const std::string text = status_text(snapshot, snapshot.targets[0], false);
    EXPECT_THAT(text, HasSubstr("50 % of 140 GiB  NVIDIA H200"));
    EXPECT_THAT(text, HasSubstr("target 60 GiB, others 10 GiB, 97 % busy"));
    EXPECT_THAT(text, HasSubstr("the GPU is lost"));
    EXPECT_THAT(text, HasSubstr("     GPU\n"));
    EXPECT_THAT(text, HasSubstr("  60 GiB\n"));
}

TEST(GpuText, WithoutGpusStatusDoesNotMentionThem) {
    const Snapshot snapshot = test::example();
    EXPECT_THAT(status_text(snapshot, snapshot.targets[0], false), Not(HasSubstr("GPU")));
}

TEST(GpuText, MigInstancesAreNumberedWithinTheirGpu) {
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

}  // namespace gpu_text_test
}  // namespace memscope
