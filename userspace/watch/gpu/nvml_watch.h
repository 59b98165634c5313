#pragma once
#include <memory>
#include <optional>
#include <string>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/gpu/nvml_poller.h"

namespace memscope {

class NvmlLibrary;

// The GPUs of the machine, and what the targets hold of them. Everything here belongs to the thread of the ticks.
class NvmlWatch {
  public:
    struct Settings {
        std::string library{};  // NVML, as for dlopen()
        Seconds interval{1};    // of the ticks
        bool host_pids = true;  // ours are those that the driver tells: else nobody is joined to what it says
    };
    explicit NvmlWatch(Settings settings) : settings_(std::move(settings)) {}

    // At every tick, before roles are given: whoever has a context on a GPU does its own work there. Loads the library
    // at the first one, when privileges have been given up; without a library there is no thread.
    void tick(std::uint64_t now_ns, ProcessTable& processes);
    const std::vector<GpuDevice>& devices() const { return sample_.devices; }
    // The driver is asked at once: something has happened that the next tick comes too late for.
    void ask();
    // What the driver said between two moments, or last before the first of them.
    NvmlPoller::Sample between(std::uint64_t from_ns, std::uint64_t to_ns) const;
    // None where it holds nothing.
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
