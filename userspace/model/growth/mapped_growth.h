#pragma once
#include <functional>
#include <memory>
#include <span>

#include "model/growth/range_map.h"

namespace memscope {

// The address spaces of all watched processes: range events in, per process and stack what is mapped and not unmapped
// since out. A process that has ended has nothing mapped any more.
//
// Some have to be read from /proc/PID/maps: those that were there before, and those that events were lost of. Whatever
// happens while that file is read comes through the ring as well and is applied again, which does no harm. Drain the
// ring before, too: a move that was not heard of when its result is read has lost its stack.
class MappedGrowth {
  public:
    // As many as the kernel side follows.
    static constexpr std::size_t kMostSpaces = 65'536;
    // Longer than a call takes from being told to being done, on a busy machine.
    static constexpr std::uint64_t kInFlightNs = 100'000'000;
    // A forked child takes over the ranges of its parent, unless they are so many that it is cheaper to read its maps
    // if it ever does something.
    static constexpr std::size_t kMostInherited = 1024;

    void apply(const RangeEvent& event);
    // A process that is followed and lives. One that is not known has been there before; of one that is, more events
    // may be lost than the last one that was heard of told.
    void meet(ProcessId id, std::uint64_t lost);
    void end(ProcessId id);  // its end was seen elsewhere, or it cannot be read any more

    std::vector<ProcessId> to_be_read() const;
    // `read_at_ns`: before the reading began. What may have been under way then is read again.
    void reconcile(ProcessId id, std::span<const FoundRange> found, std::uint64_t read_at_ns);

    struct Process {
        ProcessId id{};
        const RangeMap& ranges;  // empty for a child that has done nothing since its birth
        std::uint64_t reconciled =
            0;  // how often events were lost; its numbers are good, some of its stacks may not be
    };
    void visit(const std::function<void(const Process&)>& visitor) const;
    std::optional<Process> find(ProcessId id) const;
    std::uint64_t refused() const { return refused_; }  // events of address spaces that were too many

  private:
    struct Space {
        std::shared_ptr<RangeMap> ranges = std::make_shared<RangeMap>();
        bool inherited = false;  // still its parent's: most children exec or end before they map anything
        bool is_new = false;     // to be read for the first time
        bool to_be_read = false;
        bool has_attached = false;  // of a size that has to be read; the rest is known
        int readings = 0;           // in a row that were not good enough
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
    std::uint64_t refused_ = 0;
};

}  // namespace memscope
