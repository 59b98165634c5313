#pragma once
#include <cstddef>
#include <cstdint>

// The part of the ABI of libnvidia-ml.so.1 that memscope uses. The library comes with the driver and is loaded if it is
// installed. It does not report the versions of its structs, so their sizes are asserted here.
namespace memscope::nvml {

using Device = void*;
using EventSet = void*;

enum Code : int {
    kSuccess = 0,
    kUninitialized = 1,
    kInvalidArgument = 2,
    kNotSupported = 3,
    kNoPermission = 4,
    kNotFound = 6,
    kInsufficientSize = 7,
    kDriverNotLoaded = 9,
    kTimeout = 10,
    kLibraryNotFound = 12,
    kFunctionNotFound = 13,
    kGpuIsLost = 15,
    kResetRequired = 16,
    kOperatingSystem = 17,
    kVersionMismatch = 18,
    kUnknown = 999,
};

// `used` includes the memory that the driver and the firmware reserve; `free` does not.
struct MemoryV1 {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;
};
static_assert(sizeof(MemoryV1) == 24);

// `reserved` is the memory that the driver and the firmware reserve. Neither `used` nor `free` includes it.
struct MemoryV2 {
    std::uint32_t version = 0x2000028;  // version and size of the struct
    std::uint64_t total = 0;
    std::uint64_t reserved = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;
};
static_assert(sizeof(MemoryV2) == 40);
static_assert(offsetof(MemoryV2, total) == 8 && offsetof(MemoryV2, reserved) == 16);
static_assert(offsetof(MemoryV2, free) == 24 && offsetof(MemoryV2, used) == 32);

struct Utilization {
    std::uint32_t gpu = 0;  // percent
    std::uint32_t memory = 0;
};
static_assert(sizeof(Utilization) == 8);

struct PciInfo {
    char bus_id_legacy[16] = {};
    std::uint32_t domain = 0;
    std::uint32_t bus = 0;
    std::uint32_t device = 0;
    std::uint32_t pci_device_id = 0;
    std::uint32_t pci_subsystem_id = 0;
    char bus_id[32] = {};
};
static_assert(sizeof(PciInfo) == 68);
static_assert(offsetof(PciInfo, bus_id) == 36);

struct EventData {
    Device device = nullptr;
    std::uint64_t type = 0;
    std::uint64_t data = 0;  // the number, for an Xid event
    std::uint32_t gpu_instance = 0;
    std::uint32_t compute_instance = 0;
};
static_assert(sizeof(EventData) == 32);
static_assert(offsetof(EventData, data) == 16);

constexpr std::uint64_t kEventXid = 8;

// An entry of a process list has the pid at 0 and the used bytes at 8. Depending on the driver, nothing follows, or the
// MIG instances, or the instances and the protected memory of confidential computing.
constexpr std::size_t kEntrySizes[] = {16, 24, 32};
constexpr std::size_t kLargestEntry = 32;
constexpr std::size_t kUsedAt = 8;
constexpr std::uint64_t kUsedUnknown = ~std::uint64_t{0};

constexpr std::size_t kUuidSize = 96;
constexpr std::size_t kNameSize = 96;

}  // namespace memscope::nvml
