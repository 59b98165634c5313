#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "kernel/plan.h"
#include "model/deaths/death_evidence.h"
#include "model/growth/range_event.h"
#include "model/growth/stack.h"
#include "model/processes/tree_event.h"
#include <memscope/shared/stacks.h>

namespace memscope {

using SharedMaps = std::map<std::string, int>;        // file descriptor by map name; all BPF objects use the same names
using Losses = std::map<std::string, std::uint64_t>;  // by reason; has an entry for every reason

struct SessionSettings {
    bool memory_on_v1 = false;
    pid_t spawner = 0;                // parent of memscope's helper processes, which are not counted; 0: there is none
    bool follow_descendants = false;  // processes are followed by descent, not by cgroup
    bool follow_mappings = true;
    bool follow_growth = true;
    bool follow_ranges = false;   // needs the mappings
    bool atomic_exchange = true;  // see KernelFacts
    bool many_user_probes = false;
    bool allocates_at_probes = true;
    std::uint32_t cuda_live = 0;      // maximum number of live CUDA allocations; 0: the default of the BPF object
    std::uint32_t gpu_tensors = 0;    // maximum number of live GPU tensors; 0: the default of the BPF object
    std::uint32_t host_storages = 0;  // most entries of each map of host tensors; 0: the default
};

// What a feature needs to start: the settings of its session, without those that the kernel has no hook for.
struct FeatureSettings : SessionSettings {
    unsigned watcher_pid = 0;
    SharedMaps shared{};  // maps of the features that run already
};

// Receives the records that BPF programs send. If a function is empty, its records stay in the ring buffer. The code
// objects of a stack come before the stack. A stack is sent again only if the BPF programs have forgotten it.
struct KernelEvents {
    std::function<void(const TreeEvent&)> tree{};
    std::function<void(const DeathEvidence&)> death{};  // a process was killed, or exited after a failed allocation
    std::function<void(const RangeEvent&)> range{};
    std::function<void(const ms_code&)> code{};
    std::function<void(const RawStack&)> stack{};
    std::function<void(const ProcessId&)> grew{};  // a process has grown for the first time
    std::function<void(const GrowthSample&)> sample{};
    std::function<void()> cuda_refused{};  // the CUDA driver refused memory to a watched process
};

// The text for users about a feature that is started later, when a process maps a certain library.
struct LateFeature {
    std::string_view title{};
    std::string_view use{};  // what the feature shows, if the kernel accepts it
};

// One BPF object while it runs. start() of a feature loads it and attaches its programs, the destructor detaches them.
// The plan says what the user misses without a hook of a feature (Choice::without).
class KernelFeature {
  public:
    KernelFeature() = default;
    KernelFeature(const KernelFeature&) = delete;
    KernelFeature& operator=(const KernelFeature&) = delete;
    virtual ~KernelFeature() = default;

    virtual SharedMaps shared_maps() const { return {}; }  // for features that are started later
    // False if the plan has a program for this hook, but the program is not attached.
    virtual bool uses(std::string_view /*hook*/) const { return true; }
    // Why the kernel refused an optional part of the feature.
    virtual std::optional<Error> refusal() const { return std::nullopt; }

    virtual Status watch(CgroupId /*target*/) { return Done{}; }
    virtual void unwatch(CgroupId /*target*/) {}

    virtual std::vector<int> event_fds() const { return {}; }  // readable when records wait
    virtual void drain(const KernelEvents& /*events*/) {}

    virtual Losses losses() const = 0;     // dropped or malformed records, and entries that found a map full
    virtual Bytes map_memory() const = 0;  // without maps of other features
};

}  // namespace memscope
