#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sources/gpu/nvml_abi.h"

namespace memscope {

// The NVML functions that were found in the library. Null: this driver lacks the function, and its data is absent.
struct NvmlCalls {
    using Code = int;
    using Processes = Code (*)(nvml::Device, unsigned* count, void* entries);

    Code (*init)() = nullptr;
    Code (*shutdown)() = nullptr;
    Code (*device_count)(unsigned*) = nullptr;
    Code (*device_at)(unsigned, nvml::Device*) = nullptr;
    Code (*uuid)(nvml::Device, char*, unsigned) = nullptr;
    Code (*name)(nvml::Device, char*, unsigned) = nullptr;
    Code (*pci)(nvml::Device, nvml::PciInfo*) = nullptr;
    Code (*memory_v2)(nvml::Device, nvml::MemoryV2*) = nullptr;
    Code (*memory_v1)(nvml::Device, nvml::MemoryV1*) = nullptr;
    Code (*utilization)(nvml::Device, nvml::Utilization*) = nullptr;
    Processes compute_processes = nullptr;
    Processes graphics_processes = nullptr;
    Processes mps_processes = nullptr;
    Code (*mig_mode)(nvml::Device, unsigned* current, unsigned* pending) = nullptr;
    Code (*most_mig_devices)(nvml::Device, unsigned*) = nullptr;
    Code (*mig_device_at)(nvml::Device, unsigned, nvml::Device*) = nullptr;
    Code (*make_event_set)(nvml::EventSet*) = nullptr;
    Code (*register_events)(nvml::Device, std::uint64_t types, nvml::EventSet) = nullptr;
    Code (*wait_for_event)(nvml::EventSet, nvml::EventData*, unsigned milliseconds) = nullptr;
};

// A function that the library lacks, and the data that is missing without it.
struct MissingNvmlCall {
    std::string_view name{};
    std::string_view cost{};
};

// The management library of NVIDIA's driver. It is never unloaded, because a call may hang for ever in an abandoned
// thread.
class NvmlLibrary {
  public:
    static constexpr const char* kName = "libnvidia-ml.so.1";

    // `name` as for dlopen(). It must not come from user input, because the library runs with our privileges.
    static Result<NvmlLibrary> open(const std::string& name = kName);

    const NvmlCalls& calls() const { return calls_; }
    const std::vector<MissingNvmlCall>& missing() const { return missing_; }

  private:
    NvmlCalls calls_{};
    std::vector<MissingNvmlCall> missing_{};
};

std::string nvml_error_text(int code);

}  // namespace memscope
