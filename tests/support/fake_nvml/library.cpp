// A libnvidia-ml.so.1 that reports the values of a test. Built with OLD it has the functions of a driver of 2014, with
// NEARLY_NOTHING only those that are needed to begin. Built with from_file.cpp it reports the values of a file.
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "sources/gpu/nvml_abi.h"

#define FAKE_NVML ""  // the library needs no path to itself
#include "support/fake_nvml.h"

namespace {

using namespace memscope::nvml;

FakeNvml& state() {
    static FakeNvml fake;
    return fake;
}

void wait_while_hung() {
    ++state().calls;
    while (state().hangs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

[[maybe_unused]] FakeNvml::Device* called(Device handle) {
    wait_while_hung();
    return static_cast<FakeNvml::Device*>(handle);
}

[[maybe_unused]] int write_text(char* out, unsigned size, const char* text) {
    if (state().fills_buffers) {
        std::memset(out, 'x', size);
        return kSuccess;
    }
    if (std::strlen(text) + 1 > size) return kInsufficientSize;
    std::strcpy(out, text);
    return kSuccess;
}

[[maybe_unused]] int list(const FakeNvml::Device& device, const FakeNvml::Process* processes, unsigned have,
                          unsigned* count, void* entries) {
    if (device.code != kSuccess) return device.code;
    if (device.list_code != kSuccess) return device.list_code;
    if (state().claims_too_many) {
        *count += 1'000'000;
        return kSuccess;
    }
    const unsigned room = *count;
    *count = have;
    if (room < have) return kInsufficientSize;
    for (unsigned i = 0; i < have; ++i) {
        auto* entry = static_cast<char*>(entries) + i * state().entry_size;
        std::memcpy(entry, &processes[i].pid, sizeof processes[i].pid);  // the gap behind it stays as it was
        std::memcpy(entry + kUsedAt, &processes[i].used, sizeof processes[i].used);
        if (state().entry_size > 16) std::memset(entry + 16, 0xFF, 8);  // all ones: the entry is not of a MIG device
        if (state().entry_size > 24) std::memset(entry + 24, 0, state().entry_size - 24);
    }
    return kSuccess;
}

}  // namespace

extern "C" {

[[gnu::weak]] void fake_nvml_read_file(FakeNvml&) {}  // before each read of all devices

FakeNvml* fake_nvml_state() { return &state(); }

int nvmlInit_v2() {
    wait_while_hung();
    fake_nvml_read_file(state());
    if (state().init_code == kSuccess) ++state().sessions;
    return state().init_code;
}

int nvmlShutdown() {
    wait_while_hung();
    --state().sessions;
    return kSuccess;
}

#ifndef NEARLY_NOTHING

int nvmlDeviceGetCount_v2(unsigned* count) {
    wait_while_hung();
    *count = state().device_count;
    return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    wait_while_hung();
    if (index >= std::size(state().devices)) return kInvalidArgument;
    if (state().devices[index].code == kGpuIsLost) return kGpuIsLost;
    *device = &state().devices[index];
    return kSuccess;
}

int nvmlDeviceGetUUID(Device handle, char* out, unsigned size) {
    const auto* device = called(handle);
    return device->code != kSuccess ? device->code : write_text(out, size, device->uuid);
}

int nvmlDeviceGetName(Device handle, char* out, unsigned size) { return write_text(out, size, called(handle)->name); }

int nvmlDeviceGetMemoryInfo(Device handle, MemoryV1* memory) {
    const auto* device = called(handle);
    if (device->code != kSuccess) return device->code;
    *memory = {device->total, device->total - device->used - device->reserved, device->used + device->reserved};
    return kSuccess;
}

// Entries of 16 bytes, whatever entry size the test has set for newer calls.
int nvmlDeviceGetComputeRunningProcesses(Device handle, unsigned* count, void* entries) {
    const auto* device = called(handle);
    const std::size_t wanted = std::exchange(state().entry_size, 16);
    const int code = list(*device, device->compute, device->compute_count, count, entries);
    state().entry_size = wanted;
    return code;
}

#ifndef OLD

int nvmlDeviceGetPciInfo_v3(Device handle, PciInfo* pci) {
    return write_text(pci->bus_id, sizeof pci->bus_id, called(handle)->bus_id);
}

int nvmlDeviceGetMemoryInfo_v2(Device handle, MemoryV2* memory) {
    const auto* device = called(handle);
    if (memory->version != MemoryV2{}.version) return kInvalidArgument;
    if (device->code != kSuccess) return device->code;
    *memory = {memory->version, device->total, device->reserved, device->total - device->used - device->reserved,
               device->used};
    return kSuccess;
}

int nvmlDeviceGetUtilizationRates(Device handle, Utilization* utilization) {
    const auto* device = called(handle);
    if (device->code != kSuccess || std::strncmp(device->uuid, "MIG-", 4) == 0) return kNotSupported;
    *utilization = {device->utilization, 0};
    return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device handle, unsigned* count, void* entries) {
    const auto* device = called(handle);
    return list(*device, device->compute, device->compute_count, count, entries);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(Device handle, unsigned* count, void* entries) {
    const auto* device = called(handle);
    return list(*device, device->graphics, device->graphics_count, count, entries);
}

int nvmlDeviceGetMigMode(Device handle, unsigned* current, unsigned* pending) {
    *current = *pending = called(handle)->mig ? 1 : 0;
    return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(Device handle, unsigned* count) {
    *count = called(handle)->part_count;
    return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device handle, unsigned index, Device* part) {
    const auto* device = called(handle);
    if (index >= device->part_count || !device->parts[index]) return kNotFound;
    *part = device->parts[index];
    return kSuccess;
}

int nvmlEventSetCreate(EventSet* set) {
    wait_while_hung();
    *set = &state();
    return kSuccess;
}

int nvmlDeviceRegisterEvents(Device, std::uint64_t types, EventSet set) {
    wait_while_hung();
    return types == kEventXid && set == &state() ? kSuccess : kNotSupported;
}

int nvmlEventSetWait_v2(EventSet, EventData* event, unsigned milliseconds) {
    wait_while_hung();
    if (milliseconds != 0) std::abort();  // memscope must call this function without waiting
    fake_nvml_read_file(state());
    for (auto& device : state().devices)
        if (device.errors > 0) {
            --device.errors;
            *event = {&device, kEventXid, 79, 0, 0};
            return kSuccess;
        }
    return kTimeout;
}

#endif  // OLD
#endif  // NEARLY_NOTHING

}  // extern "C"
