#pragma once
#include <memory>
#include <span>

#include "kernel/features/cuda_calls.h"
#include "kernel/features/fatal_signals.h"
#include "kernel/features/gpu_tensors.h"
#include "kernel/features/growth_stacks.h"
#include "kernel/features/host_tensors.h"
#include "kernel/features/mapping_calls.h"
#include "kernel/features/process_tree.h"
#include "kernel/features/reclaim_timer.h"
#include "kernel/features/task_scan.h"
#include "model/snapshot.h"

namespace memscope {

// All kernel features that run. Event hooks are attached before the first scan, so that no process is missed between
// the two. Watching needs ProcessTree and TaskScan. Without any other feature memscope continues and reports what is
// missing.
class Session {
  public:
    static Result<Session> start(const Plan& plan, const SessionSettings& settings);

    // Null if the feature does not run. A feature keeps its address as long as the session lives.
    template <class Feature>
    Feature* find() const {
        return static_cast<Feature*>(find(Feature::kName));
    }
    ProcessTree& tree() const { return *find<ProcessTree>(); }
    // Starts a feature that is not needed until a process has mapped a certain library. Does nothing if it runs
    // already.
    template <class Feature>
    Result<Feature*> start_feature() {
        const auto started = start_feature(Feature::kName);
        if (!started) return started.error();
        return static_cast<Feature*>(*started);
    }

    // Starts all features of this kind, to find out whether the kernel accepts them.
    struct TriedFeature {
        LateFeature feature{};
        std::optional<Error> refusal{};
    };
    std::vector<TriedFeature> try_late_features();

    Status watch(CgroupId target);
    void unwatch(CgroupId target);
    Result<std::span<const ScannedTask>> scan() { return find<TaskScan>()->scan(); }

    std::vector<int> event_fds() const;  // of all running features; readable when records wait
    void drain(const KernelEvents& events);
    bool follows_ranges() const { return follows_ranges_; }

    Losses losses() const;
    Bytes map_memory() const;
    // Without the features that are started later: the code that starts them lists them.
    std::vector<Probe> probes() const;
    const std::vector<Error>& refused() const { return refused_; }  // why wanted features do not run

  private:
    struct Running {
        std::string_view name{};
        std::unique_ptr<KernelFeature> feature{};
    };

    KernelFeature* find(std::string_view name) const;
    Result<KernelFeature*> start_feature(std::string_view name);

    std::vector<Running> features_{};  // in the order in which they were started
    Plan plan_{};
    FeatureSettings settings_{};
    bool follows_ranges_ = false;
    std::vector<Error> refused_{};
};

}  // namespace memscope
