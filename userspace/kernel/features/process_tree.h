#pragma once
#include <memory>

#include "kernel/kernel_feature.h"

namespace memscope {

// Forks, execs, moves and exits of processes. Its BPF object creates the maps that most others share: the watched
// cgroups and processes, their mapped bytes, and the ring buffers of deaths and of mapped ranges.
class ProcessTree : public KernelFeature {
  public:
    static constexpr std::string_view kName = "tree";
    static Result<std::unique_ptr<ProcessTree>> start(const Plan& plan, const FeatureSettings& settings);
    ~ProcessTree() override;

    Status watch(CgroupId target) override;
    void unwatch(CgroupId target) override;
    // Instead of cgroups: follows this process and all processes that it and its descendants fork from now on.
    Status follow(pid_t process, CgroupId tree);
    void unfollow(pid_t process);
    // Number of dropped range events of a process. `nullopt` if the process is not followed.
    std::optional<std::uint64_t> lost_ranges(pid_t process) const;

    SharedMaps shared_maps() const override;
    std::vector<int> event_fds() const override;
    void drain(const KernelEvents& events) override;
    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit ProcessTree(std::unique_ptr<State> state);
    int targets_map() const;
    int members_map() const;
    std::unique_ptr<State> state_;
};

}  // namespace memscope
