#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "kernel/bpf/user_probes.h"
#include "kernel/kernel_feature.h"
#include "model/gpu/cuda_account.h"
#include "model/probe_places.h"

namespace memscope {

// Follows memory that processes allocate and free by calls of the CUDA driver, in every copy of the library that they
// have mapped. Loaded when the first copy is found, because most hosts have none.
class CudaCalls : public KernelFeature {
  public:
    static constexpr std::string_view kName = "gpu";
    static constexpr LateFeature kLate{"CUDA calls",
                                       "recorded in every copy of the driver that a watched process maps"};
    static Result<std::unique_ptr<CudaCalls>> start(const Plan& plan, const FeatureSettings& settings);
    ~CudaCalls() override;

    // Describes the probes at these offsets of the library.
    Result<ProbeRequest> probes(const Fd& library, std::span<const CudaPlace> places) const;

    std::vector<CudaAccount> accounts() const;
    std::vector<CudaSite> sites() const;
    // All calls of this process have been seen, because it mapped the driver while it was watched.
    void seen_from_start(const ProcessId& process);
    void clear_seen_from_start(const ProcessId& process);  // the probes were detached for a while
    std::vector<int> event_fds() const override;
    void drain(const KernelEvents& events) override;
    // For a process that is not watched any more.
    void forget(const ProcessInstance& process);
    void forget(const CudaAccount& account);
    void forget(const CudaSite& site);
    // Deletes allocations whose account no longer exists. Checks at most `most` allocations and continues there the
    // next time.
    void sweep(std::size_t most);
    std::uint64_t live_entries() const;

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit CudaCalls(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
