#pragma once
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"

namespace memscope {

// Where the memory of a target is measured.
class TargetMemory {
  public:
    virtual ~TargetMemory() = default;
    // is_gone() is true of the error once the target has been removed.
    virtual Result<MemoryState> sample(const HostMemory& host, const std::vector<Process>& processes) = 0;
    virtual void note_kill() {}  // one of its processes was killed by SIGKILL
};

// A target that a TargetSource has found, and its place among the other targets.
struct NewTarget {
    CgroupId id = kNoCgroup;
    TargetInfo info{};
    std::unique_ptr<TargetMemory> memory{};  // null: its memory is not measured here, as when readings are replayed
    CgroupId enclosing = kNoCgroup;          // the innermost target around it
    std::vector<CgroupId> inside{};          // known targets that lie directly inside it
};

// Finds the targets: cgroups that come and go, or the descendants of one process.
class TargetSource {
  public:
    struct Changes {
        std::vector<NewTarget> added{};
        std::vector<CgroupId> removed{};
        // Cgroups that match but could not be opened, because no file descriptor was left. At least 1 where the search
        // itself failed for that reason.
        std::size_t no_descriptor = 0;
    };

    TargetSource() = default;
    TargetSource(const TargetSource&) = delete;
    TargetSource& operator=(const TargetSource&) = delete;
    virtual ~TargetSource() = default;

    virtual void begin_tick() {}    // before the memory of any target is sampled
    virtual Changes refresh() = 0;  // since the last call
    // No target is left, and none can come any more. `living`: number of processes that are watched now.
    virtual bool finished(std::size_t living) const = 0;
};

}  // namespace memscope
