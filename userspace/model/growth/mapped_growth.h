#pragma once
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "model/growth/range_map.h"

namespace memscope {

// The address spaces of all watched processes. Computes from range events the mapped growth of each process and stack.
// A process that has exited has no mapped memory.
//
// Some address spaces have to be read from /proc/PID/maps: those that existed before watching began, and those with
// lost events. Changes during this read also arrive through the ring buffer and are applied again, which does no harm.
// The ring buffer must be drained before the read, too. Otherwise a moved range whose event is still in the ring buffer
// loses its stack.
class MappedGrowth {
  public:
    // Same number as in the BPF map.
    static constexpr std::size_t kMostSpaces = 65'536;
    // Longer than the time from the event of a call to its effect, on a busy host.
    static constexpr std::uint64_t kInFlightNs = 100'000'000;
    // A forked child copies the ranges of its parent. With more ranges than this it is cheaper to read /proc/PID/maps
    // when the child first maps something.
    static constexpr std::size_t kMostInherited = 1024;

    void apply(const RangeEvent& event);
    // Call this for each followed process that is alive. An unknown process existed before watching began. For a known
    // process, `lost` can be newer than the count in its last event.
    void track(ProcessId id, std::uint64_t lost);
    void end(ProcessId id);  // the process has exited, or it cannot be read any more

    std::vector<ProcessId> to_be_read() const;
    // `read_at_ns`: a time before the read began. If calls may have been in progress then, the address space is read
    // again.
    void reconcile(ProcessId id, std::span<const FoundRange> found, std::uint64_t read_at_ns);

    struct Process {
        ProcessId id{};
        const RangeMap& ranges;        // empty for a child that has mapped nothing since its fork
        std::uint64_t reconciled = 0;  // times that events were lost: sizes are right, stacks may be missing
    };
    void visit(const std::function<void(const Process&)>& visitor) const;
    std::optional<Process> find(ProcessId id) const;
    // A process with growth that has ended since forget_ended() was called last. The kMostEnded processes that held
    // most are kept.
    static constexpr std::size_t kMostEnded = 256;
    std::optional<Process> find_ended(ProcessId id) const;
    void forget_ended();
    std::uint64_t refused() const { return refused_; }  // events that were ignored because of kMostSpaces

  private:
    struct Space {
        std::shared_ptr<RangeMap> ranges = std::make_shared<RangeMap>();
        // `ranges` is still shared with the parent, because most children exec or exit before they map anything.
        bool inherited = false;
        bool is_new = false;  // not read yet
        bool to_be_read = false;
        bool has_attached = false;  // has a System V segment whose size has to be read
        int readings = 0;           // consecutive reads with calls in progress
        std::uint64_t lost = 0;
        std::uint64_t reconciled = 0;
        std::uint32_t generation = 0;
    };

    Space* begin(ProcessId id);
    Space* parent_of(const RangeEvent& event);
    static RangeMap& own(Space& space);
    static void note_lost(Space& space, std::uint64_t lost);
    static Process view(ProcessId id, const Space& space);

    std::map<ProcessId, Space> spaces_{};
    std::map<ProcessId, Space> ended_{};
    std::set<std::pair<Bytes, ProcessId>> ended_by_size_{};
    std::uint64_t refused_ = 0;
};

}  // namespace memscope
