#include <gmock/gmock.h>

#include "cli/doctor.h"
#include "sources/gpu/nvml_abi.h"
#include "support/fake_nvml.h"

namespace memscope {
namespace doctor_gpu_test {

using testing::HasSubstr;
using testing::Not;

FakeNvml& machine(const std::string& build = "full") {
    FakeNvml& fake = fake_nvml(build);
    fake.init_code = nvml::kSuccess;
    fake.hangs = false;
    fake.device_count = 2;
    fake.devices[0].uuid = "GPU-00";
    fake.devices[1].uuid = "GPU-11";
    return fake;
}

TEST(DoctorNvml, SaysWhichGpusThereAre) {
    machine();
    const Finding finding = nvml_finding(fake_nvml_path("full"));
    EXPECT_EQ(finding.present, true);
    EXPECT_THAT(finding.note, HasSubstr("2 GPUs (NVIDIA Fake)"));
    EXPECT_THAT(finding.note, Not(HasSubstr("without")));
}

TEST(DoctorNvml, SaysWhatEachMissingCallCosts) {
    machine("old");
    const Finding finding = nvml_finding(fake_nvml_path("old"));
    EXPECT_EQ(finding.present, true);
    EXPECT_THAT(finding.note, HasSubstr("; without nvmlDeviceGetUtilizationRates: no utilization of GPUs"));
    EXPECT_THAT(
        finding.note,
        HasSubstr("; without nvmlEventSetCreate, nvmlDeviceRegisterEvents, nvmlEventSetWait_v2: no Xid errors"));
}

TEST(DoctorNvml, SaysWhyNvmlDoesNotWork) {
    EXPECT_EQ(nvml_finding("libnvidia-ml-that-is-not-here.so.1").present, false);
    machine().init_code = nvml::kVersionMismatch;
    const Finding mismatch = nvml_finding(fake_nvml_path("full"));
    EXPECT_EQ(mismatch.present, false);
    EXPECT_THAT(mismatch.note, HasSubstr("different versions"));
    EXPECT_EQ(nvml_finding(fake_nvml_path("bare")).present, false);
}

TEST(DoctorNvml, DoesNotWaitForADriverThatHangs) {
    FakeNvml& fake = machine();
    fake.hangs = true;
    const Finding finding = nvml_finding(fake_nvml_path("full"), Seconds{0.1});
    fake.hangs = false;
    EXPECT_EQ(finding.present, false);
    EXPECT_THAT(finding.note, HasSubstr("has not answered"));
}

}  // namespace doctor_gpu_test
}  // namespace memscope
