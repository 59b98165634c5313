// For a test in another process than the one that loads the library. The environment variable FAKE_NVML_SAYS names the
// file with the devices.
//   gpu UUID TOTAL USED BUSY XID_ERRORS     sizes in bytes, BUSY in percent, errors since the beginning
//   process PID USED                        of the device above it
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#define FAKE_NVML ""
#include "support/fake_nvml.h"

namespace {

struct LastRead {
    std::array<std::string, 4> uuids{};
    std::array<unsigned, 4> errors{};
};

}  // namespace

extern "C" void fake_nvml_read_file(FakeNvml& fake) {
    static LastRead last;
    const char* path = std::getenv("FAKE_NVML_SAYS");
    std::ifstream file(path ? path : "");
    unsigned count = 0;
    FakeNvml::Device* device = nullptr;
    for (std::string word; file >> word;) {
        if (word == "gpu" && count < last.uuids.size()) {
            device = &fake.devices[count];
            unsigned errors = 0;
            file >> last.uuids[count] >> device->total >> device->used >> device->utilization >> errors;
            device->uuid = last.uuids[count].c_str();
            device->errors += errors - last.errors[count];
            last.errors[count] = errors;
            device->compute_count = 0;
            ++count;
        } else if (word == "process" && device && device->compute_count < std::size(device->compute)) {
            FakeNvml::Process& process = device->compute[device->compute_count++];
            file >> process.pid >> process.used;
        }
    }
    fake.device_count = count;
}
