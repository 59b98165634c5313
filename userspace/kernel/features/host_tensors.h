#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "kernel/bpf/user_probes.h"
#include "kernel/kernel_feature.h"
#include "model/growth/host_tensors.h"
#include "model/probe_places.h"

namespace memscope {

// Follows the storages of PyTorch's host tensors with user probes, in every copy of its library that processes have
// mapped. Loaded when the first copy is found. Needs GrowthStacks, which identifies address spaces and reads stacks.
class HostTensors : public KernelFeature {
  public:
    static constexpr std::string_view kName = "host_tensors";
    static constexpr LateFeature kLate{"host tensors", "recorded in every copy of PyTorch that a watched process maps"};
    static Result<std::unique_ptr<HostTensors>> start(const Plan& plan, const FeatureSettings& settings);
    ~HostTensors() override;

    // Describes the probes at these offsets of the library: of all calls, or only of allocations that failed.
    enum class Calls { all, failures };
    Result<ProbeRequest> probes(const Fd& library, std::span<const HostTensorPlace> places, Calls calls) const;

    // The accounts of address spaces that still exist. Deletes the others.
    std::vector<HostTensorAccount> accounts();
    HostTensorReading read();  // the sites of these accounts; begins the next reading
    // Deletes storages of address spaces that accounts() has forgotten. Checks at most `most` storages and continues
    // there the next time.
    void sweep(std::size_t most);
    std::uint64_t entries() const;  // of the BPF map of storages

    // Forgets all storages, because frees may have been missed. If `on` is false, nothing is recorded until the next
    // call.
    void begin_period(bool on);

    struct Cost {
        std::uint64_t allocated = 0;  // storages
        std::uint64_t calls = 0;
        std::uint64_t ns = 0;  // without the cost of the probe itself
    };
    Cost cost() const;

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    class LivingAccounts;
    explicit HostTensors(std::unique_ptr<State> state);
    std::vector<HostTensorSite> sites(LivingAccounts& living);
    bool exists(const ms_host_account_key& key, __u32 pid) const;
    std::unique_ptr<State> state_;
};

}  // namespace memscope
