#include "sources/gpu/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace memscope {
namespace {

// Finds the first of the names that the library exports; newer names come first.
template <class Call>
bool find(void* library, Call& call, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (void* symbol = ::dlsym(library, name)) {
            call = reinterpret_cast<Call>(symbol);
            return true;
        }
    return false;
}

}  // namespace

Result<NvmlLibrary> NvmlLibrary::open(const std::string& name) {
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char* reason = ::dlerror();
        return plain_error(reason ? reason : "cannot load " + name);
    }
    NvmlLibrary library;
    NvmlCalls& calls = library.calls_;
    const auto want = [&](auto& call, std::initializer_list<const char*> names, std::string_view cost) {
        if (!find(handle, call, names)) library.missing_.push_back({*names.begin(), cost});
    };
    want(calls.init, {"nvmlInit_v2", "nvmlInit"}, "no GPU data");
    find(handle, calls.shutdown, {"nvmlShutdown"});
    want(calls.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, "no GPU data");
    want(calls.device_at, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}, "no GPU data");
    want(calls.uuid, {"nvmlDeviceGetUUID"}, "no GPU data, because GPUs cannot be identified");
    want(calls.name, {"nvmlDeviceGetName"}, "no names of GPUs");
    want(calls.pci, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"}, "no PCI addresses of GPUs");
    // Uses one of the two for all devices and for the whole run, because they count differently.
    if (!find(handle, calls.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"}))
        want(calls.memory_v1, {"nvmlDeviceGetMemoryInfo"}, "no memory usage of whole GPUs");
    want(calls.utilization, {"nvmlDeviceGetUtilizationRates"}, "no utilization of GPUs");
    want(calls.compute_processes,
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
          "nvmlDeviceGetComputeRunningProcesses"},
         "no GPU memory by process");
    want(calls.graphics_processes,
         {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
          "nvmlDeviceGetGraphicsRunningProcesses"},
         "no GPU memory of graphics processes");
    find(handle, calls.mps_processes,
         {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
          "nvmlDeviceGetMPSComputeRunningProcesses"});
    constexpr std::string_view kNoParts = "no memory usage by MIG device";
    want(calls.mig_mode, {"nvmlDeviceGetMigMode"}, kNoParts);
    want(calls.most_mig_devices, {"nvmlDeviceGetMaxMigDeviceCount"}, kNoParts);
    want(calls.mig_device_at, {"nvmlDeviceGetMigDeviceHandleByIndex"}, kNoParts);
    constexpr std::string_view kNoErrors = "no Xid errors of GPUs";
    want(calls.make_event_set, {"nvmlEventSetCreate"}, kNoErrors);
    want(calls.register_events, {"nvmlDeviceRegisterEvents"}, kNoErrors);
    want(calls.wait_for_event, {"nvmlEventSetWait_v2", "nvmlEventSetWait"}, kNoErrors);
    return library;
}

std::string nvml_error_text(int code) {
    switch (code) {
        case nvml::kNoPermission:
            return "permission denied";
        case nvml::kDriverNotLoaded:
            return "the NVIDIA driver is not loaded";
        case nvml::kTimeout:
            return "the call timed out";
        case nvml::kGpuIsLost:
            return "the GPU is lost: it has fallen off the bus";
        case nvml::kResetRequired:
            return "the GPU needs a reset";
        case nvml::kVersionMismatch:
            return "the library and the loaded driver are of different versions (reload the driver, or reboot)";
        default:
            return fmt::format("NVML error {}", code);
    }
}

}  // namespace memscope
