#pragma once
#include <cstdint>
#include <memory>
#include <utility>
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
    virtual void note_kill() {}  // a process of the target was killed by SIGKILL
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
        // Number of cgroups that match but could not be opened, because no file descriptor was left. At least 1 if the
        // search itself failed for this reason.
        std::size_t no_descriptor = 0;
    };

    TargetSource() = default;
    TargetSource(const TargetSource&) = delete;
    TargetSource& operator=(const TargetSource&) = delete;
    virtual ~TargetSource() = default;

    virtual void begin_tick() {}    // before the memory of any target is sampled
    virtual Changes refresh() = 0;  // since the last call
    // True if no target is left and no target can appear any more. `living`: number of processes that are watched now.
    virtual bool finished(std::size_t living) const = 0;
};

// Decides when TargetSource::refresh() searches the cgroup hierarchy again.
class RefreshSchedule {
  public:
    // `has_events`: the kernel reports every cgroup that is made or removed. Otherwise every tick searches.
    explicit RefreshSchedule(bool has_events) : has_events_(has_events) {}

    void note_change() { changed_ = true; }  // a cgroup was made or removed
    // Between two ticks, so that a process that starts in a new cgroup is watched from its start. Rate-limited, because
    // a job can make cgroups in a tight loop.
    bool is_due_between_ticks(std::uint64_t now_ns) const {
        constexpr std::uint64_t kAtMostEveryNs = 100'000'000;
        return changed_ && now_ns - refreshed_ns_ >= kAtMostEveryNs;
    }
    // At a tick. The event of a new cgroup comes shortly before its directory is visible, so a search between two ticks
    // is repeated at the next tick. `lost_events`: how many events found no room in a ring buffer so far.
    // `lacks_descriptors`: file descriptors may be free again without any change of the hierarchy.
    bool is_due_at_tick(std::uint64_t lost_events, bool lacks_descriptors) {
        const bool lost = std::exchange(lost_events_, lost_events) != lost_events;
        return std::exchange(changed_, false) || lost || !has_events_ || lacks_descriptors;
    }
    void refreshed(std::uint64_t now_ns) { refreshed_ns_ = now_ns; }

  private:
    bool has_events_;
    bool changed_ = true;
    std::uint64_t refreshed_ns_ = 0;  // boot clock
    std::uint64_t lost_events_ = 0;   // at the last tick
};

}  // namespace memscope
