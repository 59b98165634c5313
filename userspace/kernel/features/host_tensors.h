#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "kernel/features/kernel_feature.h"
#include "kernel/features/user_probes.h"
#include "model/growth/stack.h"
#include <memscope/shared/host_tensors.h>

namespace memscope {

// A function of PyTorch's memory reporter in a library file.
struct HostTensorPlace {
    ms_host_tensor_call call{};
    std::uint64_t offset = 0;
};

// Storages of PyTorch's host tensors that one process holds.
struct HostTensorAccount {
    ProcessId process{};
    SpaceId space{};
    std::int64_t bytes = 0;
    std::uint64_t storages = 0;
    std::int64_t lost = 0;  // bytes of storages that found the map full
};

// A hash of a process and of the Python calls of a stack. A stack without Python calls has a CallsId of its own.
enum class CallsId : std::uint64_t {};

// Bytes of one stack that are still held, 0 if all were freed.
struct HostTensorSite {
    SpaceId space{};
    StackId stack = kNoStack;
    CallsId calls{};
    std::int64_t bytes = 0;
};

// Frees of all stacks with the same Python calls since the last reading: the lowest number of live bytes right after a
// free, the highest number right before a free, and the largest fall from a high number to a later low number.
struct HostTensorFrees {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t fall = 0;
};

struct HostTensorReading {
    using Calls = std::pair<SpaceId, CallsId>;
    std::vector<HostTensorSite> sites{};
    std::map<Calls, std::optional<HostTensorFrees>> calls{};  // of all sites; `nullopt`: nothing was freed
};

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
