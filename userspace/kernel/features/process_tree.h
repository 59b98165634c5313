#pragma once
#include <functional>
#include <memory>

#include "kernel/features/feature.h"
#include "kernel/plan.h"
#include "model/processes/tree_event.h"

namespace memscope {

// The events of the process tree, and the map that says which cgroups are watched.
class ProcessTree {
  public:
    static Result<ProcessTree> start(const Plan& plan, const FeatureSettings& settings);
    ProcessTree(ProcessTree&&) noexcept;
    ProcessTree& operator=(ProcessTree&&) noexcept;
    ~ProcessTree();

    Status watch(CgroupId target);
    void unwatch(CgroupId target);
    // Instead of cgroups: that process, and whatever it and its descendants fork from now on.
    Status follow(pid_t process, CgroupId tree);
    void unfollow(pid_t process);

    SharedMaps shared_maps() const;  // who is watched, what they have mapped, their last words
    int mappings_map() const;

    int ring_fd() const;  // readable when events wait
    void drain(const std::function<void(const TreeEvent&)>& visit);
    Losses losses() const;  // those of the kernel side, and records that could not be decoded
    Bytes map_memory() const;

  private:
    struct State;
    explicit ProcessTree(std::unique_ptr<State> state);
    int targets_map() const;
    int members_map() const;
    std::unique_ptr<State> state_;  // stable address: the ring's callback holds it
};

}  // namespace memscope
