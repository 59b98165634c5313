#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

// The values that the fake libnvidia-ml.so.1 reports, set by tests. One for each build of the library in a process.
struct FakeNvml {
    struct Process {
        unsigned pid = 0;
        std::uint64_t used = 0;  // all ones: not available
    };
    struct Device {
        const char* uuid = "";
        const char* name = "NVIDIA Fake";
        const char* bus_id = "00000000:01:00.0";
        int code = 0;  // of every call about it
        int list_code = 0;
        std::uint64_t total = 0;
        std::uint64_t used = 0;
        std::uint64_t reserved = 0;
        unsigned utilization = 0;
        unsigned compute_count = 0;
        Process compute[600] = {};
        unsigned graphics_count = 0;
        Process graphics[4] = {};
        bool mig = false;
        unsigned part_count = 0;
        Device* parts[8] = {};             // null: a place without a part
        std::atomic<unsigned> errors = 0;  // Xid errors that are not reported yet
    };

    int init_code = 0;
    unsigned device_count = 0;
    Device devices[4] = {};
    std::size_t entry_size = 24;
    bool claims_too_many = false;     // more processes than the caller has room for
    bool fills_buffers = false;       // text without an end
    std::atomic<bool> hangs = false;  // in every call
    std::atomic<int> calls = 0;
    std::atomic<int> sessions = 0;  // that were opened and not closed
};

inline std::string fake_nvml_path(const std::string& build) { return std::string(FAKE_NVML) + build + ".so"; }

// The state of the library that is loaded from that path. It has the values that the previous test left.
inline FakeNvml& fake_nvml(const std::string& build = "full") {
    void* library = ::dlopen(fake_nvml_path(build).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) throw std::runtime_error(::dlerror());
    return *reinterpret_cast<FakeNvml* (*)()>(::dlsym(library, "fake_nvml_state"))();
}
