#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/deaths/death.h"
#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/proc/kernel_log.h"
#include "watch/clock.h"
#include "watch/gpu/nvml_poller.h"

namespace memscope {

// Joins the last words of processes with what else is known, decides why each died, and keeps that by target.
class DeathRecorder {
  public:
    // Opens the kernel log, which takes privileges that are given up later.
    DeathRecorder(SysRoot root, CgroupHierarchy hierarchy);

    // Before the table forgets it: whether it is the root of others stands there.
    void exited(const Exited& event, const ProcessTable& processes);
    void take(LastWords words);
    bool anyone_waits() const { return !waiting_.empty(); }
    bool news_waits() const { return news_waits_; }  // most likely: what is teardown shows when it is settled

    struct Surroundings {
        const ProcessTable& processes;  // with those that have ended since the tick before
        const Nesting& nesting;
        std::map<CgroupId, TargetInfo> targets{};
        HostMemory host{};  // at the tick before
        Now now{};
        // What the GPU driver said after an allocation failed and before the process ended, or last before the failure.
        std::function<NvmlPoller::Sample(std::uint64_t failed_ns, std::uint64_t ended_ns)> gpus{};
    };
    // Decides on all that wait. Everything that happened up to their ends has been told.
    void settle(const Surroundings& around);

    // Puts those since it was last asked, and the sums, into what is shown of the target.
    void hand_over(CgroupId target, TargetSnapshot& out);
    void forget(CgroupId target);
    // Now and then: roots that nobody descends from any more need not be remembered.
    void sweep(const ProcessTable& processes);

    bool reads_kernel_log() const { return log_.has_value(); }
    std::uint64_t log_overruns() const { return log_ ? log_->overrun() : 0; }

  private:
    struct Books {
        std::vector<Death> news{};
        DeathTally tally{};
        std::optional<Death> last{};  // that was news
    };

    void read_log(std::uint64_t now_ns);
    const LoggedOomKill* logged(const LastWords& words) const;
    void settle_one(const LastWords& words, const TrackedProcess* process, const Surroundings& around);
    std::optional<std::uint64_t> root_ending(const LastWords& words, const TrackedProcess* process) const;
    void find_places(Death& death, const LastWords& words, CgroupId target, const Surroundings& around) const;
    void describe_gpu(Death& death, const LastWords& words, const Surroundings& around) const;
    void name_owner(Death& death, const LastWords& words, CgroupId target, const Surroundings& around) const;

    SysRoot root_;
    CgroupHierarchy hierarchy_;
    std::optional<KernelLog> log_{};
    struct Line {
        std::uint64_t read_ns = 0;
        LoggedOomKill kill{};
    };
    std::deque<Line> lines_{};
    std::vector<LastWords> waiting_{};
    bool news_waits_ = false;
    std::deque<ProcessId> settled_{};              // the latest: the last two threads of one may both tell its end
    std::map<ProcessId, std::uint64_t> ending_{};  // since when, on the boot clock
    std::map<CgroupId, Books> books_{};
};

}  // namespace memscope
