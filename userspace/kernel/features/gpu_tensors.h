#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "kernel/bpf/user_probes.h"
#include "kernel/kernel_feature.h"
#include "model/gpu/gpu_tensor_account.h"
#include "model/probe_places.h"

namespace memscope {

// Counts tensors on GPUs by PyTorch's static probes, in every copy of its library that processes have mapped. Loaded if
// the user asks for it, when the first copy is found.
class GpuTensors : public KernelFeature {
  public:
    static constexpr std::string_view kName = "torch";
    static constexpr LateFeature kLate{
        "tensors", "counted with --torch, in builds of PyTorch that have probes (release wheels for x86_64)"};
    static Result<std::unique_ptr<GpuTensors>> start(const Plan& plan, const FeatureSettings& settings);
    ~GpuTensors() override;

    // Describes the probes at these offsets of the library.
    Result<ProbeRequest> probes(const Fd& library, std::span<const GpuTensorPlace> places);

    std::vector<GpuTensorAccount> accounts() const;  // of processes that have neither exited nor called exec since
    void forget(const ProcessInstance& process);     // for a process that is not watched any more
    // Deletes tensors of processes that have exited. Checks at most `most` tensors and continues there the next time.
    void sweep(std::size_t most);
    std::uint64_t entries() const;

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit GpuTensors(std::unique_ptr<State> state);
    Result<std::uint32_t> number_of(const ms_gpu_tensor_site& site);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
