#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/processes/nesting.h"
#include "model/snapshot.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Where the memory of a target is measured.
class TargetMemory {
  public:
    virtual ~TargetMemory() = default;
    // is_gone() is true of the error once the target has been removed.
    virtual Result<MemoryState> sample(const HostMemory& host, const std::vector<Process>& processes) = 0;
    virtual void note_kill() {}  // one of its processes was killed by SIGKILL
};

struct Target {
    TargetInfo info{};
    std::unique_ptr<TargetMemory> memory{};
    std::optional<ShmUsage> shm{};  // read every few seconds only: it takes a list of mounts per namespace
    std::uint64_t shm_read_ns = 0;  // boot clock
    ShmJob shm_job{};               // that is under way, if it has a number
    std::size_t process_count = 0;  // at the last tick
};

// What is watched now: cgroups that come and go, or the descendants of one process.
class Targets {
  public:
    struct Changes {
        std::vector<CgroupId> added{};
        std::vector<CgroupId> removed{};
        std::map<CgroupId, TargetInfo> removed_infos{};  // what those were
        // Cgroups that match but could not be opened, because no file descriptor was left. At least 1 where even
        // looking for them failed for that reason.
        std::size_t no_descriptor = 0;
    };

    Targets() = default;
    Targets(const Targets&) = delete;
    Targets& operator=(const Targets&) = delete;
    virtual ~Targets() = default;

    virtual void begin_tick() {}  // before the memory of any target is sampled
    // Finds out who is new and who is gone. `removed` still stand in nesting() until forget().
    virtual Changes refresh() = 0;
    // Nothing is left to watch, and nothing can come any more. `living`: processes that are watched now.
    virtual bool finished(std::size_t living) const = 0;
    void forget(CgroupId removed) { nesting_.remove(removed); }

    std::map<CgroupId, Target>& all() { return targets_; }
    const Nesting& nesting() const { return nesting_; }

  protected:
    std::map<CgroupId, Target> targets_;
    Nesting nesting_;
};

}  // namespace memscope
