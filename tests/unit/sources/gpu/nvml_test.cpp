#include "sources/gpu/nvml.h"

#include <cstring>
#include <gmock/gmock.h>

#include "support/fake_nvml.h"

namespace memscope {
namespace nvml_test {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

// A machine with two GPUs. The library stays loaded between tests, so each test resets it.
FakeNvml& machine(const std::string& build = "full") {
    FakeNvml& fake = fake_nvml(build);
    fake.init_code = nvml::kSuccess;
    fake.device_count = 2;
    fake.entry_size = 24;
    fake.claims_too_many = fake.fills_buffers = fake.hangs = false;
    for (auto& device : fake.devices) {
        device.code = device.list_code = nvml::kSuccess;
        device.total = 80 * kGiB;
        device.used = 31 * kGiB;
        device.reserved = kGiB / 2;
        device.utilization = 97;
        device.compute_count = device.graphics_count = device.part_count = 0;
        device.mig = false;
        device.errors = 0;
    }
    fake.devices[0].uuid = "GPU-00";
    fake.devices[1].uuid = "GPU-11";
    return fake;
}

void hold(FakeNvml::Device& device, unsigned pid, std::uint64_t used) {
    device.compute[device.compute_count++] = {pid, used};
}

Result<Nvml> start(const std::string& build = "full") {
    const auto library = NvmlLibrary::open(fake_nvml_path(build));
    if (!library) return library.error();
    return Nvml::start(*library);
}

std::vector<GpuDevice> read(const std::string& build = "full") {
    auto nvml = start(build);
    EXPECT_TRUE(nvml);
    return nvml ? nvml->read() : std::vector<GpuDevice>{};
}

TEST(Nvml, ADeviceHasItsIdentityAndItsMemory) {
    FakeNvml& fake = machine();
    hold(fake.devices[0], 101, 30 * kGiB);
    const auto devices = read();
    ASSERT_THAT(devices, SizeIs(2));
    const GpuDevice& gpu = devices[0];
    EXPECT_EQ(gpu.id, "GPU-00");
    EXPECT_EQ(gpu.index, 0U);
    EXPECT_EQ(gpu.name, "NVIDIA Fake");
    EXPECT_EQ(gpu.pci_bus_id, "00000000:01:00.0");
    EXPECT_EQ(gpu.used, Bytes{31 * kGiB});
    EXPECT_EQ(gpu.total, Bytes{80 * kGiB});
    EXPECT_EQ(gpu.reserved, Bytes{kGiB / 2});
    EXPECT_EQ(gpu.free, Bytes{80 * kGiB - 31 * kGiB - kGiB / 2}) << "memory that the driver reserves is not free";
    EXPECT_EQ(gpu.utilization, 0.97);
    EXPECT_EQ(gpu.xid_errors, 0U);
    EXPECT_TRUE(gpu.knows_holders);
    ASSERT_THAT(gpu.holders, SizeIs(1));
    EXPECT_EQ(gpu.holders[0].pid, 101);
    EXPECT_EQ(gpu.holders[0].used, Bytes{30 * kGiB});
    EXPECT_THAT(devices[1].holders, IsEmpty());
    EXPECT_TRUE(devices[1].knows_holders);
}

TEST(Nvml, EntriesOfEverySizeThatDriversHaveHadAreRead) {
    for (const std::size_t size : nvml::kEntrySizes) {
        FakeNvml& fake = machine();
        fake.entry_size = size;
        hold(fake.devices[0], 7, kGiB);
        hold(fake.devices[0], 8, 2 * kGiB);
        hold(fake.devices[0], 9, 3 * kGiB);
        const auto holders = read()[0].holders;
        ASSERT_THAT(holders, SizeIs(3)) << size;
        EXPECT_EQ(holders[1].pid, 8) << size;
        EXPECT_EQ(holders[2].used, Bytes{3 * kGiB}) << size;
    }
}

TEST(Nvml, EntriesOfAnUnknownSizeAreIgnored) {
    FakeNvml& fake = machine();
    fake.entry_size = 40;
    hold(fake.devices[0], 7, kGiB);
    const auto devices = read();
    EXPECT_FALSE(devices[0].knows_holders);
    EXPECT_THAT(devices[0].holders, IsEmpty());
    EXPECT_EQ(devices[0].used, Bytes{31 * kGiB});
}

TEST(Nvml, MemoryOfAProcessThatIsNotAvailableIsAbsent) {
    FakeNvml& fake = machine();
    hold(fake.devices[0], 7, nvml::kUsedUnknown);
    const auto holders = read()[0].holders;
    ASSERT_THAT(holders, SizeIs(1));
    EXPECT_FALSE(holders[0].used);
}

TEST(Nvml, AProcessThatComputesAndDrawsCountsOnce) {
    FakeNvml& fake = machine();
    hold(fake.devices[0], 7, kGiB);
    hold(fake.devices[0], 9, nvml::kUsedUnknown);
    fake.devices[0].graphics_count = 3;
    fake.devices[0].graphics[0] = {7, kGiB + 1};
    fake.devices[0].graphics[1] = {8, 5};
    fake.devices[0].graphics[2] = {9, 6};
    const auto holders = read()[0].holders;
    ASSERT_THAT(holders, SizeIs(3));
    EXPECT_EQ(holders[0].used, Bytes{kGiB + 1});
    EXPECT_EQ(holders[1].pid, 8);
    EXPECT_EQ(holders[2].used, Bytes{6});
}

TEST(Nvml, AListThatIsLongerThanUsualIsReadWhole) {
    FakeNvml& fake = machine();
    for (unsigned pid = 1; pid <= 600; ++pid) hold(fake.devices[0], pid, pid);
    const auto holders = read()[0].holders;
    ASSERT_THAT(holders, SizeIs(600));
    EXPECT_EQ(holders.back().used, Bytes{600});
}

TEST(Nvml, ACountAboveTheBufferSizeIsRefused) {
    machine().claims_too_many = true;
    const auto devices = read();
    EXPECT_FALSE(devices[0].knows_holders);
    EXPECT_THAT(devices[0].holders, IsEmpty());
}

TEST(Nvml, TextWithoutAnEndIsCut) {
    FakeNvml& fake = machine();
    fake.fills_buffers = true;
    const auto devices = read();
    ASSERT_THAT(devices, SizeIs(1)) << "two devices with the same UUID are one device";
    EXPECT_EQ(devices[0].id, std::string(nvml::kUuidSize, 'x'));
    EXPECT_EQ(devices[0].pci_bus_id, std::string(32, 'x'));
}

TEST(Nvml, ADeviceThatIsLostHasNoValuesAndTheOthersGoOn) {
    FakeNvml& fake = machine();
    hold(fake.devices[0], 101, kGiB);
    auto nvml = start();
    ASSERT_TRUE(nvml);
    EXPECT_EQ(nvml->read()[0].trouble, "");
    fake.devices[0].code = nvml::kGpuIsLost;
    fake.devices[0].errors = 1;
    const auto devices = nvml->read();
    ASSERT_THAT(devices, SizeIs(2));
    EXPECT_THAT(devices[0].trouble, HasSubstr("lost"));
    EXPECT_EQ(devices[0].id, "GPU-00");
    EXPECT_FALSE(devices[0].used);
    EXPECT_FALSE(devices[0].utilization);
    EXPECT_FALSE(devices[0].knows_holders);
    EXPECT_EQ(devices[0].xid_errors, 1U) << "the error that announced the loss";
    EXPECT_EQ(devices[1].used, Bytes{31 * kGiB});
    fake.devices[0].code = nvml::kSuccess;
    EXPECT_EQ(nvml->read()[0].used, Bytes{31 * kGiB}) << "the GPU works again";
}

TEST(Nvml, ADeviceThatWasLostBeforeIsLeftOut) {
    machine().devices[0].code = nvml::kGpuIsLost;
    EXPECT_THAT(read(), ElementsAre(Field(&GpuDevice::id, "GPU-11")));
}

TEST(Nvml, AnUnsupportedCallKeepsOtherValuesOfTheDevice) {
    FakeNvml& fake = machine();
    fake.devices[0].list_code = nvml::kNoPermission;
    const auto devices = read();
    EXPECT_FALSE(devices[0].knows_holders);
    EXPECT_EQ(devices[0].trouble, "");
    EXPECT_EQ(devices[0].used, Bytes{31 * kGiB});
}

TEST(Nvml, CountsXidErrorsByDeviceWithoutWaiting) {
    FakeNvml& fake = machine();
    auto nvml = start();
    ASSERT_TRUE(nvml);
    fake.devices[1].errors = 3;
    EXPECT_EQ(nvml->read()[1].xid_errors, 3U);
    fake.devices[1].errors = 1;
    const auto devices = nvml->read();
    EXPECT_EQ(devices[1].xid_errors, 4U);
    EXPECT_EQ(devices[0].xid_errors, 0U);
}

TEST(Nvml, AGpuWithMigDevicesKeepsItsSumsAndTheMigDevicesHaveTheProcesses) {
    FakeNvml& fake = machine();
    FakeNvml::Device& whole = fake.devices[0];
    FakeNvml::Device& part = fake.devices[3];
    part.uuid = "MIG-aa";
    part.total = 10 * kGiB;
    part.used = 4 * kGiB;
    whole.mig = true;
    whole.part_count = 7;
    whole.parts[2] = &part;
    hold(whole, 7, 4 * kGiB);
    hold(whole, 8, kGiB);
    hold(part, 7, 4 * kGiB);
    const auto devices = read();
    whole.parts[2] = nullptr;
    ASSERT_THAT(devices, SizeIs(3));
    EXPECT_EQ(devices[0].used, Bytes{31 * kGiB});
    ASSERT_THAT(devices[0].holders, SizeIs(1)) << "the process that uses no MIG device";
    EXPECT_EQ(devices[0].holders[0].pid, 8);
    EXPECT_EQ(devices[1].id, "MIG-aa");
    EXPECT_EQ(devices[1].part_of, "GPU-00");
    EXPECT_EQ(devices[1].total, Bytes{10 * kGiB});
    EXPECT_FALSE(devices[1].utilization);
    ASSERT_THAT(devices[1].holders, SizeIs(1));
    EXPECT_EQ(devices[2].id, "GPU-11");
}

TEST(Nvml, AnOldLibraryHasFewerValuesAndListsMissingFunctions) {
    FakeNvml& fake = machine("old");
    hold(fake.devices[0], 7, kGiB);
    const auto devices = read("old");
    ASSERT_THAT(devices, SizeIs(2));
    EXPECT_EQ(devices[0].used, Bytes{31 * kGiB + kGiB / 2})
        << "the older struct includes the reserved memory in `used`";
    EXPECT_EQ(devices[0].free, Bytes{80 * kGiB - 31 * kGiB - kGiB / 2});
    EXPECT_FALSE(devices[0].reserved) << "the older struct has no such field";
    EXPECT_FALSE(devices[0].utilization);
    EXPECT_FALSE(devices[0].xid_errors);
    ASSERT_THAT(devices[0].holders, SizeIs(1));
    const auto library = NvmlLibrary::open(fake_nvml_path("old"));
    ASSERT_TRUE(library);
    std::vector<std::string_view> missing;
    for (const auto& call : library->missing()) missing.push_back(call.name);
    EXPECT_THAT(missing, ElementsAre("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetUtilizationRates",
                                     "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMigMode",
                                     "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex",
                                     "nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"));
}

TEST(Nvml, ACurrentLibraryHasAllFunctions) {
    const auto library = NvmlLibrary::open(fake_nvml_path("full"));
    ASSERT_TRUE(library);
    EXPECT_THAT(library->missing(), IsEmpty());
}

TEST(Nvml, ALibraryWithoutRequiredFunctionsIsAnError) {
    machine("bare");
    const auto nvml = start("bare");
    ASSERT_FALSE(nvml);
    EXPECT_THAT(nvml.error().message(), HasSubstr("lacks"));
}

TEST(Nvml, AMissingLibraryIsAnError) { EXPECT_FALSE(NvmlLibrary::open("libnvidia-ml-that-is-not-here.so.1")); }

TEST(Nvml, ReportsThatTheDriverIsNotLoaded) {
    machine().init_code = nvml::kDriverNotLoaded;
    const auto nvml = start();
    ASSERT_FALSE(nvml);
    EXPECT_THAT(nvml.error().message(), HasSubstr("driver is not loaded"));
}

TEST(Nvml, EverySessionIsEnded) {
    FakeNvml& fake = machine();
    const int before = fake.sessions;
    (void)read();
    EXPECT_EQ(fake.sessions, before);
}

// What a driver writes over the sentinel: the fields of entries of `size` bytes.
std::vector<std::byte> written(std::size_t size, std::size_t count) {
    std::vector<std::byte> buffer(64 * nvml::kLargestEntry, kNvmlSentinel);
    for (std::size_t i = 0; i < count; ++i) {
        const auto pid = static_cast<std::uint32_t>(i + 1);
        const std::uint64_t used = (i + 1) << 20U;
        std::memcpy(buffer.data() + i * size, &pid, sizeof pid);
        std::memset(buffer.data() + i * size + 8, 0, size - 8);
        std::memcpy(buffer.data() + i * size + 8, &used, sizeof used);
    }
    return buffer;
}

TEST(NvmlProcesses, InfersTheEntrySizeFromTheWrittenBytes) {
    for (const std::size_t size : nvml::kEntrySizes)
        for (std::size_t count = 0; count <= 64; ++count) {
            const auto holders = parse_nvml_processes(written(size, count), count);
            ASSERT_TRUE(holders) << size << " " << count;
            ASSERT_THAT(*holders, SizeIs(count));
            EXPECT_EQ(count == 0 ? Bytes{} : holders->back().used, Bytes{count << 20U});
        }
}

TEST(NvmlProcesses, ACountThatDoesNotFitWhatWasWrittenIsRefused) {
    EXPECT_FALSE(parse_nvml_processes(written(24, 3), 4));
    EXPECT_FALSE(parse_nvml_processes(written(24, 3), 2));
    EXPECT_FALSE(parse_nvml_processes(written(24, 3), 1'000'000'000));
    EXPECT_FALSE(parse_nvml_processes(written(24, 0), 1)) << "nothing was written";
    EXPECT_FALSE(parse_nvml_processes({}, 1));
}

TEST(NvmlProcesses, APidThatNobodyCanHaveIsLeftOut) {
    auto buffer = written(16, 2);
    std::memset(buffer.data(), 0xFF, 4);
    const auto holders = parse_nvml_processes(buffer, 2);
    ASSERT_TRUE(holders);
    EXPECT_THAT(*holders, ElementsAre(Field(&GpuHolder::pid, 2)));
}

}  // namespace nvml_test
}  // namespace memscope
