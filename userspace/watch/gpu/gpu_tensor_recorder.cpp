#include "watch/gpu/gpu_tensor_recorder.h"

#include "analysis/gpu/gpu_join.h"
#include "sources/gpu/probed_libraries.h"

namespace memscope {
namespace {

constexpr std::size_t kMostTensorsSweptPerTick = 16384;

}  // namespace

GpuTensorRecorder::GpuTensorRecorder(std::shared_ptr<ReadHelpers> reads, bool on)
    : libraries_({.name = "copies of PyTorch",
                  .kind = LibraryKind::gpu_tensors,
                  .probe = GpuTensors::kName,
                  .loss = "torch_library_refused",
                  .file_name = std::string(kGpuTensorFileName),
                  .probes = [](Session& session, const LibraryAnswer& library) -> Result<ProbeRequest> {
                      const auto probes = session.start_feature<GpuTensors>();
                      if (!probes) return probes.error();
                      return (*probes)->probes(library.file, library.gpu_tensors);
                  }},
                 std::move(reads), on) {}

void GpuTensorRecorder::tick(Session& session, const CudaRecorder& calls, const CudaRecorder::Surroundings& around) {
    libraries_.tick(session, around.processes, around.now_ns);
    GpuTensors* probes = session.find<GpuTensors>();
    if (!probes) return;
    read_accounts(*probes, calls, around);
    entries_ = probes->entries();
    if (entries_ > counted_) probes->sweep(kMostTensorsSweptPerTick);  // removes entries of ended processes
}

void GpuTensorRecorder::read_accounts(GpuTensors& probes, const CudaRecorder& calls,
                                      const CudaRecorder::Surroundings& around) {
    const auto& living = around.processes.living();
    std::set<ProcessInstance> unknown;
    tensors_.clear();
    counted_ = 0;
    for (const GpuTensorAccount& account : probes.accounts()) {
        counted_ += account.tensors;
        const ProcessId& id = account.process.id;
        if (const auto found = living.find(id.pid); found == living.end() || found->second.task.id != id) {
            unknown.insert(account.process);
            continue;
        }
        if (account.missed_some || !libraries_.is_followed_from_its_start(id)) continue;
        for (const auto& [number, bytes] : account.devices) {
            const auto known = calls.device(id, number);
            const GpuId device = known ? *known : device_of(std::nullopt, id.pid, around.devices);
            Bytes& sum = tensors_[id][device];
            sum = sum + bytes;
        }
    }
    // A new process is in the process table at the next tick at the latest. A process that is missing there twice has
    // left all targets.
    for (const ProcessInstance& process : unknown)
        if (unknown_.contains(process)) probes.forget(process);
    unknown_ = std::move(unknown);
}

void GpuTensorRecorder::describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const {
    if (tensors_.empty()) return;
    bool any = false;
    for (const Process& process : processes) {
        const auto its = tensors_.find(process.task.id);
        if (its == tensors_.end()) continue;
        any = true;
        if (!gpu) gpu.emplace();
        for (const auto& [device, bytes] : its->second)
            gpu->processes[process.task.id.pid].devices[device].tensors = bytes;
    }
    if (any) sum_tensors_by_role(*gpu, processes);
}

}  // namespace memscope
