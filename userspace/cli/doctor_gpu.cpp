#include "cli/doctor_gpu.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.h"
#include "sources/nvml_library.h"
#include "watch/clock.h"
#include "watch/gpu_watch.h"

namespace memscope {
namespace {

std::string devices_text(const std::vector<GpuDevice>& devices) {
    std::size_t gpus = 0;
    std::size_t parts = 0;
    std::size_t silent = 0;
    std::set<std::string> names;
    for (const GpuDevice& device : devices) {
        ++(device.part_of.empty() ? gpus : parts);
        if (!device.trouble.empty()) ++silent;
        if (device.part_of.empty()) names.insert(device.name);
    }
    std::string text = fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
    std::string models;
    for (const std::string& name : names) models += (models.empty() ? "" : ", ") + name;
    if (!models.empty()) text += " (" + models + ")";
    if (parts > 0) text += fmt::format(", {} MIG device{}", parts, parts == 1 ? "" : "s");
    if (silent > 0) text += fmt::format(", {} of them do not answer", silent);
    const bool no_lists = std::ranges::any_of(
        devices, [](const GpuDevice& device) { return device.trouble.empty() && !device.knows_holders; });
    if (no_lists) text += "; not all tell which processes hold their memory";
    return text;
}

// "; without nvmlX, nvmlY: no Xid errors of GPUs"
std::string missing_text(const std::vector<MissingNvmlCall>& missing) {
    std::string text;
    for (std::size_t i = 0; i < missing.size(); ++i) {
        const bool goes_on = i > 0 && missing[i - 1].cost == missing[i].cost;
        if (goes_on)
            text.insert(text.rfind(':'), fmt::format(", {}", missing[i].name));
        else
            text += fmt::format("; without {}: {}", missing[i].name, missing[i].cost);
    }
    return text;
}

}  // namespace

Finding nvml_finding(const std::string& library, Seconds patience) {
    const auto opened = NvmlLibrary::open(library);
    if (!opened) return {"NVML", false, printable(opened.error().message()) + ": no GPU memory is shown"};
    const std::string missing = missing_text(opened->missing());
    const GpuPoller poller(open_nvml(*opened), Seconds{1});
    if (!poller.wait_for_first(patience))
        return {"NVML", false,
                fmt::format("{} is here, but the driver has not answered for {}{}", library, human_duration(patience),
                            missing)};
    const auto sample = poller.latest(read_clock().boot_ns);
    if (sample.taken_ns == 0)
        return {"NVML", false, fmt::format("{}: {}: no GPU memory is shown{}", library, sample.why, missing)};
    return {"NVML", true, fmt::format("{}: {}{}", library, devices_text(sample.devices), missing)};
}

}  // namespace memscope
