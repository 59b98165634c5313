#include "watch/gpu/gpu_probe_watch.h"

#include <utility>

namespace memscope {

void GpuProbeWatch::executed(const ProcessId& process) {
    calls_.libraries().executed(process);
    tensors_.libraries().executed(process);
}

// A process that has just entered a target, or whose start was missed, may have used the library long before it maps it
// again.
void GpuProbeWatch::mapped(const LibraryMapped& event, const ProcessTable& processes) {
    const auto found = processes.living().find(event.id.pid);
    const TrackedProcess* known =
        found != processes.living().end() && found->second.task.id == event.id ? &found->second : nullptr;
    const bool watched = known && (known->born_here || known->exec_count > 0 || known->gpu_probes_begun);
    calls_.libraries().mapped(event, watched);
    tensors_.libraries().mapped(event, watched);
}

void GpuProbeWatch::check_libraries(Session& session, std::uint64_t now_ns) {
    tensors_.libraries().check_libraries(session, now_ns);  // first, because it takes less time
    calls_.check_libraries(session, now_ns);
}

void GpuProbeWatch::tick(Session& session, ProcessTable& processes, WatchedTargets& targets,
                         const std::vector<GpuDevice>& devices, std::uint64_t now_ns) {
    if (revision_ != processes.revision()) {
        revision_ = processes.revision();
        for (auto& [pid, process] : processes.living()) {
            if (std::exchange(process.gpu_probes_begun, true)) continue;
            calls_.libraries().begin(process);
            tensors_.libraries().begin(process);
        }
    }
    const CudaRecorder::Surroundings around{
        .processes = processes, .targets = targets, .devices = devices, .now_ns = now_ns};
    calls_.tick(session, around);
    tensors_.tick(session, calls_, around);
}

void GpuProbeWatch::describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const {
    calls_.describe(processes, gpu);
    tensors_.describe(processes, gpu);
}

void GpuProbeWatch::describe(SelfSample& self) const {
    calls_.libraries().describe(self);
    tensors_.libraries().describe(self);
}

std::vector<Error> GpuProbeWatch::take_refusals() {
    auto refusals = calls_.libraries().take_refusals();
    for (Error& refusal : tensors_.libraries().take_refusals()) refusals.push_back(std::move(refusal));
    return refusals;
}

}  // namespace memscope
