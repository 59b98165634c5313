#include "watch/gpu/nvml_watch.h"

#include "analysis/gpu/gpu_join.h"
#include "sources/gpu/nvml.h"

namespace memscope {

NvmlPoller::Open open_nvml(const NvmlLibrary& library) {
    return [library]() -> Result<NvmlPoller::Read> {
        auto started = Nvml::start(library);
        if (!started) return started.error();
        return NvmlPoller::Read([nvml = std::make_shared<Nvml>(std::move(*started))] { return nvml->read(); });
    };
}

void NvmlWatch::start() {
    started_ = true;
    if (const auto library = NvmlLibrary::open(settings_.library))
        poller_ = std::make_unique<NvmlPoller>(open_nvml(*library), settings_.interval);
}

void NvmlWatch::tick(std::uint64_t now_ns, ProcessTable& processes) {
    if (!started_) start();
    if (!poller_) return;
    sample_ = poller_->latest(now_ns);
    if (!settings_.host_pids) return;
    auto& living = processes.living();
    for (const auto& [pid, index] : gpu_index_of_holders(sample_.devices))
        if (const auto found = living.find(pid);
            found != living.end() && found->second.task.id.start_ns <= sample_.taken_ns)
            processes.note_gpu_context(found->second, index);
}

void NvmlWatch::ask() {
    if (poller_) poller_->ask();
}

NvmlPoller::Sample NvmlWatch::between(std::uint64_t from_ns, std::uint64_t to_ns) const {
    return poller_ ? poller_->between(from_ns, to_ns) : NvmlPoller::Sample{};
}

std::optional<TargetGpu> NvmlWatch::of(const std::vector<Process>& processes) const {
    if (!settings_.host_pids) return std::nullopt;
    TargetGpu gpu = join_gpu(sample_.devices, sample_.taken_ns, processes);
    if (gpu.processes.empty()) return std::nullopt;
    sum_gpu_by_role(gpu, processes);
    return gpu;
}

}  // namespace memscope
