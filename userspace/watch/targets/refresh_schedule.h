#pragma once
#include <cstdint>
#include <utility>

namespace memscope {

// Decides when the cgroup hierarchy is searched for targets again.
class RefreshSchedule {
  public:
    // `has_events`: the kernel reports every cgroup that is made or removed. Otherwise every tick searches.
    explicit RefreshSchedule(bool has_events) : has_events_(has_events) {}

    void note_change() { changed_ = true; }  // a cgroup was made or removed
    // Between two ticks, so that a process which starts in a new cgroup right away is watched from its start.
    // Rate-limited, because a job can make cgroups in a tight loop.
    bool is_due_between_ticks(std::uint64_t now_ns) const {
        constexpr std::uint64_t kAtMostEveryNs = 100'000'000;
        return changed_ && now_ns - refreshed_ns_ >= kAtMostEveryNs;
    }
    // At a tick. The event of a new cgroup comes a moment before its directory can be seen, so that a search between
    // two ticks is repeated at the next tick. `lost_events`: how many events found no room in a ring buffer so far.
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
