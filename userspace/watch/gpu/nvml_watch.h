#pragma once
#include <memory>
#include <optional>
#include <string>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/gpu/nvml_poller.h"

namespace memscope {

class NvmlLibrary;

// The GPUs of the machine, and the GPU memory of each target. Everything here belongs to the thread of the ticks.
class NvmlWatch {
  public:
    struct Settings {
        std::string library{};  // NVML, as for dlopen()
        Seconds interval{1};    // of the ticks
        bool host_pids = true;  // false: the driver reports pids of another PID namespace, so they are not used
    };
    explicit NvmlWatch(Settings settings) : settings_(std::move(settings)) {}

    // At every tick, before roles are assigned, because the role of a process depends on its GPU context. The first
    // call loads the library, after privileges were dropped. Without the library there is no thread.
    void tick(std::uint64_t now_ns, ProcessTable& processes);
    const std::vector<GpuDevice>& devices() const { return sample_.devices; }
    // Requests a read of the driver at once, for an event that cannot wait for the next tick.
    void ask();
    // See NvmlPoller::between().
    NvmlPoller::Sample between(std::uint64_t from_ns, std::uint64_t to_ns) const;
    // `nullopt` if the processes hold no GPU memory.
    std::optional<TargetGpu> of(const std::vector<Process>& processes) const;

  private:
    void start();

    Settings settings_;
    bool started_ = false;
    NvmlPoller::Sample sample_{};
    std::unique_ptr<NvmlPoller> poller_{};
};

// A session with the driver, for a poller.
NvmlPoller::Open open_nvml(const NvmlLibrary& library);

}  // namespace memscope
