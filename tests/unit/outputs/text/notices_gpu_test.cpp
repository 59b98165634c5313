#include <gmock/gmock.h>

#include "example.h"
#include "outputs/text/notices.h"

namespace memscope {
namespace notices_gpu_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

}  // namespace notices_gpu_test
}  // namespace memscope
