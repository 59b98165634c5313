// The cost of reading NVIDIA's driver: CPU and wall time of one read of all GPUs, and the share of a core that the
// poller uses.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <thread>

#include "sources/gpu/nvml.h"
#include "watch/clock.h"
#include "watch/gpu/nvml_poller.h"

namespace memscope {
namespace {

double median(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

int measure(const char* path) {
    const auto library = NvmlLibrary::open(path);
    if (!library) {
        fmt::print("no GPUs to measure: {}\n", library.error().message());
        return 0;
    }
    const std::uint64_t began = read_clock().boot_ns;
    auto nvml = Nvml::start(*library);
    if (!nvml) {
        fmt::print("no GPUs to measure: {}\n", nvml.error().message());
        return 0;
    }
    const double start_ms = static_cast<double>(read_clock().boot_ns - began) * 1e-6;
    constexpr int kRounds = 31;
    std::vector<double> cpu, wall;
    std::vector<GpuDevice> devices;
    for (int i = 0; i < kRounds; ++i) {
        const Seconds cpu_before = thread_cpu_time();
        const std::uint64_t before = read_clock().boot_ns;
        devices = nvml->read();
        wall.push_back(static_cast<double>(read_clock().boot_ns - before) * 1e-6);
        cpu.push_back((thread_cpu_time() - cpu_before).count() * 1e3);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));  // caches are as cold as with one read per second
    }
    const Seconds each(median(cpu) * 1e-3);
    fmt::print("{} devices: a read takes {:.2f} ms of CPU, {:.2f} ms in all; beginning took {:.0f} ms\n",
               devices.size(), median(cpu), median(wall), start_ms);
    fmt::print("one every {:.1f} s: {:.2f} % of a core\n", gpu_poll_pause(Seconds{1}, each).count(),
               100 * (each / gpu_poll_pause(Seconds{1}, each)));
    for (const GpuDevice& gpu : devices)
        fmt::print("  {} {} used {} of {}, {} holders{} {}\n", gpu.index, gpu.id,
                   gpu.used ? human_size(*gpu.used) : "-", gpu.total ? human_size(*gpu.total) : "-", gpu.holders.size(),
                   gpu.knows_holders ? "" : " (not known)", gpu.trouble);
    return 0;
}

}  // namespace
}  // namespace memscope

int main(int count, char** arguments) {
    return memscope::measure(count > 1 ? arguments[1] : memscope::NvmlLibrary::kName);
}
