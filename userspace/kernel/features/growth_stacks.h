#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/features/kernel_feature.h"
#include "model/growth/stack.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Where anonymous memory grows, by stack, and what the kernel must know of Python to walk its frames.
class GrowthStacks : public KernelFeature {
  public:
    static constexpr std::string_view kName = "growth";
    struct Cost {
        std::uint64_t bookings = 0;
        std::uint64_t ns = 0;
    };

    static Result<std::unique_ptr<GrowthStacks>> start(const Plan& plan, const FeatureSettings& settings);
    ~GrowthStacks() override;

    SharedMaps shared_maps() const override;

    bool follows(const ProcessId& process) const;  // by birth in the target, or begun
    // A process that was there before, or came in: its growth beyond what it has is followed from now on.
    Status begin(const ProcessId& process, SpaceId space, Bytes anon);
    void forget(pid_t process);
    Status set_python(pid_t process, const ms_python& python);
    std::optional<ms_python> python_of(pid_t process) const;

    std::vector<int> event_fds() const override;
    void drain(const KernelEvents& events) override;  // delivers if `events` has all of `code`, `stack` and `grew`
    // Everything booked so far. A site that is forgotten begins anew when it grows again.
    const std::vector<StackGrowth>& read_sites();
    std::int64_t take_site(StackId stack);  // forgets it and says what it had, in bytes
    void forget_stack(StackId stack);       // it will be sent again
    void allow_stacks(pid_t process, std::uint32_t more);
    std::optional<SpaceGrowth> read_space(pid_t process) const;

    Cost cost() const;
    // The hook in the page fault alone. What grows meanwhile is nobody's.
    void pause();
    Status resume();
    bool is_paused() const;
    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit GrowthStacks(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
