#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/growth/range_event.h"

namespace memscope {

// Whose growth a range is while it is writable memory.
enum class RangeOwner : std::uint8_t {
    nobody,   // not writable so far: booked when it becomes so
    before,   // there before it was followed, or inherited from the parent: nobody's growth
    stack,    // made writable at `stack`
    unknown,  // made while events were lost
};

struct RangeUse {
    RangeKind kind = RangeKind::other;
    Access access{};
    RangeOwner owner = RangeOwner::nobody;
    std::uint64_t stack = 0;
    auto operator<=>(const RangeUse&) const = default;
};

// What counts as growth, if it is somebody's.
inline bool is_writable_memory(const RangeUse& use) { return is_memory(use.kind) && use.access.writable; }

struct RangePiece {
    AddressRange range{};
    RangeUse use{};
    auto operator<=>(const RangePiece&) const = default;
};

struct MappedAtStack {
    Bytes anonymous{};
    Bytes shared{};
    Bytes sum() const { return anonymous + shared; }
    auto operator<=>(const MappedAtStack&) const = default;
};

// What the ranges add up to. Only `stacks` and `unknown` are growth.
struct MappedTotals {
    std::unordered_map<std::uint64_t, MappedAtStack> stacks{};
    Bytes unknown{};
    Bytes before{};
    Bytes unwritable{};  // memory that can be read or executed only
    Bytes reserved{};    // memory without access
    Bytes file{};
    Bytes device{};
    Bytes grown() const;
};

// Disjoint ranges by address, and their sums. Neighbours that are used alike are one, so that memory stays bounded by
// what the process does differently. With `most` pieces what would be one more is left out and counted.
class RangePieces {
  public:
    explicit RangePieces(std::size_t most) : most_(most) {}

    void put(const AddressRange& range, const RangeUse& use);  // over whatever is there
    void put_where_empty(const RangePiece& piece);
    void disown();                                                    // nothing of it is anybody's growth
    std::vector<RangePiece> take(const AddressRange& range);          // and return what was there, cut to the range
    std::vector<RangePiece> within(const AddressRange& range) const;  // cut to the range
    std::vector<RangePiece> all() const { return within({0, UINT64_MAX}); }

    const MappedTotals& totals() const { return totals_; }
    std::size_t size() const { return pieces_.size(); }
    std::size_t most() const { return most_; }
    Bytes left_out() const { return left_out_; }  // of all times: when they were unmapped is not known

  private:
    struct Rest {
        std::uint64_t end = 0;
        RangeUse use{};
    };
    using Pieces = std::map<std::uint64_t, Rest>;  // by where they begin

    Pieces::const_iterator first_behind(std::uint64_t address) const;  // the first that ends behind it
    void cut_at(std::uint64_t address);
    void book(const RangeUse& use, std::uint64_t bytes, bool added);

    std::size_t most_;
    Pieces pieces_{};
    MappedTotals totals_{};
    Bytes left_out_{};
};

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
