#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "kernel/features/kernel_feature.h"
#include "kernel/features/user_probes.h"
#include "model/gpu/gpu_account.h"
#include <memscope/shared/torch.h>

namespace memscope {

// A probe of PyTorch's in a file that has it.
struct TorchPlace {
    std::uint64_t offset = 0;
    std::uint64_t semaphore = 0;  // offset in the file; 0: it has none
    ms_torch_site site{};
};

// Tensors, by PyTorch's own probes, in whatever copies of its library processes have mapped. Loaded when that is asked
// for and the first is found.
class TorchProbes : public KernelFeature {
  public:
    static constexpr std::string_view kName = "torch";
    static Result<std::unique_ptr<TorchProbes>> start(const Plan& plan, const FeatureSettings& settings);
    ~TorchProbes() override;

    // The probes at these places of the library.
    Result<ProbeRequest> probes(const Fd& library, std::span<const TorchPlace> places);

    std::vector<TensorAccount> accounts() const;  // of those that have neither ended nor executed another program
    void forget(const CudaProcess& process);      // one that is not watched any more
    // Tensors of processes that are gone: looks at that many at most, and goes on there the next time.
    void sweep(std::size_t most);
    std::uint64_t entries() const;

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit TorchProbes(std::unique_ptr<State> state);
    Result<std::uint32_t> number_of(const ms_torch_site& site);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
