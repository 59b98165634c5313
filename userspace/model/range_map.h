#pragma once
#include <optional>
#include <span>

#include "model/range_pieces.h"

namespace memscope {

// The ranges of one address space, and at which stack each was mapped. Small private mappings do not travel
// (MS_RANGE_LEAST_BYTES), so that what is not known here is one of those.
//
// Calls that take memory away are told before they happen. What they take is kept, by thread, until they are known to
// have failed or the thread does something else.
class RangeMap {
  public:
    static constexpr std::size_t kMostPieces = 65'536;
    explicit RangeMap(std::size_t most = kMostPieces) : pieces_(most) {}

    // False: the event does not fit what is known, so that the address space should be read anew.
    bool apply(const RangeEvent& event);

    // As a forked child has it: the same ranges, and none of them its growth.
    void inherit();

    // Takes over what /proc/PID/maps says, keeping whose each range was. Writable memory that was not known: `owner`.
    void reconcile(std::span<const FoundRange> found, RangeOwner owner);
    // Takes over how long the segments of System V are that have been attached since, and nothing else.
    void find_attached(std::span<const FoundRange> found);
    // A call that was told at that time or later may not have happened yet, one that moves a range at any time.
    bool has_calls_in_flight(std::uint64_t since_ns) const;

    const MappedTotals& totals() const { return pieces_.totals(); }
    std::vector<RangePiece> ranges() const { return pieces_.all(); }
    std::size_t size() const { return pieces_.size(); }
    Bytes left_out() const { return pieces_.left_out(); }

  private:
    static constexpr std::size_t kMostThreads = 4096;
    static constexpr std::size_t kMostAttached = 4096;

    struct Taken {
        ms_range_call call = MS_RANGE_UNMAP;
        std::uint64_t time_ns = 0;
        AddressRange range{};
        std::vector<RangePiece> pieces{};
    };
    struct Attached {
        Access access{};
        std::uint64_t stack = 0;
        std::uint64_t bytes = 0;  // 0: not known yet
    };

    void take(const RangeEvent& event, const AddressRange& range);
    std::optional<Taken> taken_by(const RangeEvent& event, ms_range_call call, const AddressRange& range);
    bool put_back(const RangeEvent& event, ms_range_call call, const AddressRange& range);
    void detach(const RangeEvent& event);
    bool move(const RangeEvent& event);
    void copy(const RangeEvent& event);
    void protect(const RangeEvent& event);
    bool holds_unknown(const AddressRange& range) const;
    void attach(const RangeEvent& event);

    RangePieces pieces_;
    std::map<pid_t, Taken> taken_{};                // by thread
    std::map<std::uint64_t, Attached> attached_{};  // by address
};

}  // namespace memscope
