#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "kernel/features/cuda_calls.h"
#include "kernel/features/death_ring.h"
#include "kernel/features/fatal_signals.h"
#include "kernel/features/growth_stacks.h"
#include "kernel/features/mapping_calls.h"
#include "kernel/features/process_tree.h"
#include "kernel/features/range_ring.h"
#include "kernel/features/reclaim_timer.h"
#include "kernel/features/task_scan.h"
#include "kernel/features/torch_probes.h"
#include "model/snapshot.h"

namespace memscope {

struct SessionSettings {
    bool memory_on_v1 = false;
    pid_t spawner = 0;                // the parent of our own helpers, which are not counted; 0: there is none
    bool follow_descendants = false;  // processes that are followed by birth, not by cgroup
    bool follow_mappings = true;
    bool follow_growth = true;
    bool follow_ranges = false;   // needs the mappings
    bool atomic_exchange = true;  // see KernelFacts
    bool many_user_probes = false;
    bool allocates_at_probes = true;
    std::uint32_t gpu_live = 0;  // CUDA allocations there is room for; 0: as many as there should be
    std::uint32_t tensors = 0;   // tensors there is room for; the same
};

// The kernel side while it runs: loads what the plan chose and owns it. Events are attached before the first
// scan can happen, so that nothing falls between the two. Without tree or tasks there is nothing to see; any other
// signal that is refused costs that signal only.
class Session {
  public:
    static Result<Session> start(const Plan& plan, const SessionSettings& settings);

    Status watch(CgroupId target);
    void unwatch(CgroupId target);
    Status follow(pid_t process, CgroupId tree) { return tree_.follow(process, tree); }
    void unfollow(pid_t process) { tree_.unfollow(process); }

    int ring_fd() const { return tree_.ring_fd(); }
    void drain(const std::function<void(const TreeEvent&)>& visit) { tree_.drain(visit); }
    Result<std::span<const ScannedTask>> scan() { return tasks_.scan(); }

    // Processes that did not just exit. Their own fd: it becomes readable when somebody dies.
    int deaths_fd() const { return death_ring_.fd(); }
    void drain_deaths(const std::function<void(LastWords)>& visit) { death_ring_.drain(visit); }

    // Growth by stack; null where it is not followed.
    GrowthStacks* growth() { return growth_.get(); }
    // Time lost in reclaim; null where it is not measured.
    ReclaimTimer* reclaim() { return reclaim_ ? &*reclaim_ : nullptr; }
    // Calls of the CUDA driver; null until it is started, which is when somebody has mapped one.
    CudaCalls* gpu() { return gpu_.get(); }
    Status start_gpu();
    // PyTorch's own probes; null until they are started, which is when somebody has asked for it and mapped them.
    TorchProbes* torch() { return torch_.get(); }
    Status start_torch();
    bool tells_of_cuda() const { return memory_.has_value(); }  // when somebody maps a driver; else one has to look
    // Changes of single ranges; nothing where they are not followed. Its own fd: it becomes readable when the ring
    // fills up between two ticks; -1 where there is none.
    bool follows_ranges() const { return ranges_ && memory_; }
    int ranges_fd() const { return ranges_ ? ranges_->fd() : -1; }
    void drain_ranges(const std::function<void(const RangeEvent&)>& visit) {
        if (ranges_) ranges_->drain(visit);
    }
    // How many of a process's found no room; none: it is not followed. Asked when losses() has more of "ranges_full".
    std::optional<std::uint64_t> lost_ranges(pid_t process) const;

    // The signal `memory` hangs on every system call of the machine: what that costs is measured with and without.
    Status pause_memory();
    Status resume_memory();

    Losses losses() const;
    Bytes map_memory() const;
    const std::vector<Probe>& probes() const { return probes_; }
    const std::vector<Error>& refused() const { return refused_; }  // signals we go on without

  private:
    Session(ProcessTree tree, TaskScan tasks, DeathRing death_ring)
        : tree_(std::move(tree)), tasks_(std::move(tasks)), death_ring_(std::move(death_ring)) {}

    ProcessTree tree_;
    TaskScan tasks_;
    DeathRing death_ring_;
    std::optional<MappingCalls> memory_{};
    std::unique_ptr<GrowthStacks> growth_{};  // where it is, it stays: it is read from other threads as well
    std::optional<RangeRing> ranges_{};
    std::optional<ReclaimTimer> reclaim_{};
    std::optional<FatalSignals> deaths_{};
    std::unique_ptr<CudaCalls> gpu_{};
    std::unique_ptr<TorchProbes> torch_{};
    Plan plan_{};                 // for what is started later
    FeatureSettings settings_{};  // the same
    std::vector<Probe> probes_{};
    std::vector<Error> refused_{};
};

}  // namespace memscope
