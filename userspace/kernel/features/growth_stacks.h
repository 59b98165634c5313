#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/kernel_feature.h"
#include "model/growth/growth.h"
#include "model/growth/stack.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Samples of growing anonymous memory with their call stacks, and the Python offsets that the BPF programs need to walk
// Python frames.
class GrowthStacks : public KernelFeature {
  public:
    static constexpr std::string_view kName = "growth";
    struct Cost {
        std::uint64_t samples = 0;
        std::uint64_t ns = 0;
    };

    static Result<std::unique_ptr<GrowthStacks>> start(const Plan& plan, const FeatureSettings& settings);
    ~GrowthStacks() override;

    SharedMaps shared_maps() const override;

    bool follows(const ProcessId& process) const;  // the process was forked in the target, or begin() was called
    // For a process that started before watching, or that moved into the target: follows its growth from now on.
    // `start`: its anonymous memory now, swapped memory included.
    Status begin(const ProcessId& process, SpaceId space, Bytes start);
    void forget(pid_t process);
    Status set_python(pid_t process, const ms_python& python);
    std::optional<ms_python> python_of(pid_t process) const;

    std::vector<int> event_fds() const override;
    void drain(const KernelEvents& events) override;  // only if `events` has `code`, `stack`, `grew` and `sample`
    void forget_stack(StackId stack);                 // so that it is sent again
    void allow_stacks(pid_t process, std::uint32_t more);
    std::optional<FollowedSpace> read_space(pid_t process) const;

    ResidentMethod method() const;
    Cost cost() const;
    // Detaches only the hooks that run at page faults. Growth during the pause is attributed to no stack.
    void pause();
    Status resume();
    bool is_paused() const;
    bool uses(std::string_view hook) const override;  // false for the hooks of resident growth during a pause
    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit GrowthStacks(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
