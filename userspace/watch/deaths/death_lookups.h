#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "model/deaths/death_evidence.h"
#include "model/processes/process.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/proc/kernel_log.h"
#include "watch/gpu/nvml_poller.h"

namespace memscope {

// Functions that query the machine. DeathRecorder uses them to explain deaths. A function is empty if there is no
// machine to query, for example when readings are replayed.
struct DeathLookups {
    std::function<std::vector<LoggedOomKill>()> kernel_log{};  // lines since the last call
    // The path of a cgroup. The search goes from the cgroup at the path `near` to the root.
    std::function<std::optional<std::string>(CgroupId, const std::string& near)> cgroup_path{};
    // The mount point of a file system in the mount namespace of one of these processes; empty: none.
    std::function<std::string(std::uint32_t device, const std::vector<pid_t>& processes)> mount_point{};
    std::function<std::optional<std::string>(pid_t)> comm{};
    // The state of the GPUs after an allocation failed and before the process ended, or the last state before the
    // failure. Both times are on the boot clock.
    std::function<NvmlPoller::Sample(std::uint64_t failed_ns, std::uint64_t ended_ns)> gpus{};
};

// The lookups on this machine.
class MachineLookups {
  public:
    // Opens the kernel log, which needs privileges that memscope drops later.
    MachineLookups(SysRoot root, CgroupHierarchy hierarchy);

    // Valid until this object is moved or destroyed.
    DeathLookups lookups();
    std::uint64_t log_overruns() const { return log_ ? log_->overrun() : 0; }

  private:
    SysRoot root_;
    CgroupHierarchy hierarchy_;
    std::optional<KernelLog> log_{};  // none: memscope may not read it
};

}  // namespace memscope
