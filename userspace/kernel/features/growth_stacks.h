#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/features/feature.h"
#include "kernel/plan.h"
#include "model/growth/stack.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// What the kernel tells of stacks. In this order: the code objects of a stack, then the stack, once.
struct StackVisitor {
    std::function<void(const ms_code&)> code{};
    std::function<void(const RawStack&)> stack{};
    std::function<void(const ProcessId&)> grew{};  // for the first time
};

// Where anonymous memory grows, by stack, and what the kernel must know of Python to walk its frames.
class GrowthStacks {
  public:
    struct Cost {
        std::uint64_t bookings = 0;
        std::uint64_t ns = 0;
    };

    static Result<GrowthStacks> start(const Plan& plan, const FeatureSettings& settings);
    GrowthStacks(GrowthStacks&&) noexcept;
    GrowthStacks& operator=(GrowthStacks&&) noexcept;
    ~GrowthStacks();

    SharedMaps shared_maps() const;  // for other objects that take stacks

    bool follows(const ProcessId& process) const;  // by birth in the target, or begun
    // A process that was there before, or came in: its growth beyond what it has is followed from now on.
    Status begin(const ProcessId& process, SpaceId space, Bytes anon);
    void forget(pid_t process);
    Status set_python(pid_t process, const ms_python& python);
    std::optional<ms_python> python_of(pid_t process) const;

    int ring_fd() const;
    void drain(const StackVisitor& visitor);
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
    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit GrowthStacks(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
