#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/growth/range_event.h"
#include "model/growth/trough.h"

namespace memscope {

// The owner to which the growth of a range is attributed while the range is writable memory.
enum class RangeOwner : std::uint8_t {
    none,     // not writable so far: attributed when it becomes writable
    before,   // mapped before it was followed, or inherited from the parent: no growth
    stack,    // made writable at `stack`
    unknown,  // mapped while events were lost
};

struct RangeUse {
    RangeKind kind = RangeKind::other;
    Access access{};
    RangeOwner owner = RangeOwner::none;
    std::uint64_t stack = 0;
    auto operator<=>(const RangeUse&) const = default;
};

// Counts as growth if its owner is a stack or unknown.
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

// Sums of the ranges. Only `stacks` and `unknown` are growth.
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

// Disjoint ranges by address, and their sums. Neighbours with the same use are joined, which saves memory. At most
// `most` pieces are kept; further ones are left out and counted.
class RangePieces {
  public:
    explicit RangePieces(std::size_t most) : most_(most) {}

    void put(const AddressRange& range, const RangeUse& use);  // replaces what is there
    void put_where_empty(const RangePiece& piece);
    void disown();                                            // no range counts as growth any more
    std::vector<RangePiece> take(const AddressRange& range);  // removes and returns what was there, cut to the range
    std::vector<RangePiece> within(const AddressRange& range) const;  // cut to the range
    std::vector<RangePiece> all() const { return within({0, UINT64_MAX}); }

    const MappedTotals& totals() const { return totals_; }
    std::size_t size() const { return pieces_.size(); }
    std::size_t most() const { return most_; }
    // Sum since the start. It never falls, because memscope does not notice when such a range is unmapped.
    Bytes left_out() const { return left_out_; }

  private:
    struct Rest {
        std::uint64_t end = 0;
        RangeUse use{};
    };
    using Pieces = std::map<std::uint64_t, Rest>;  // by their begin

    Pieces::const_iterator first_behind(std::uint64_t address) const;  // the first piece that ends after the address
    void cut_at(std::uint64_t address);
    void count(const RangeUse& use, std::uint64_t bytes, bool added);

    std::size_t most_;
    Pieces pieces_{};
    MappedTotals totals_{};
    Bytes left_out_{};
};

// The ranges of one address space, and the stack that mapped each. Small private mappings are not sent
// (MS_RANGE_LEAST_BYTES), so a range that is not in the map is such a mapping.
//
// Events of calls that remove memory are sent before the removal. The removed pieces are kept, by thread, until the
// call has failed or the thread makes another call.
class RangeMap {
  public:
    static constexpr std::size_t kMostPieces = 65'536;
    explicit RangeMap(std::size_t most = kMostPieces) : pieces_(most) {}

    // False if the event does not fit the known ranges, so that the address space should be read again.
    bool apply(const RangeEvent& event);

    // Turns the map into that of a forked child: the same ranges, but none of them is its growth.
    void inherit();

    // Takes the ranges of /proc/PID/maps and keeps the owner of each known range. Unknown writable memory gets `owner`.
    void reconcile(std::span<const FoundRange> found, RangeOwner owner);
    // Takes only the sizes of System V segments that have been attached since.
    void find_attached(std::span<const FoundRange> found);
    // True if a call may still be in progress: its event was sent at or after `since_ns`, or it moves a range.
    bool has_calls_in_flight(std::uint64_t since_ns) const;

    const MappedTotals& totals() const { return pieces_.totals(); }
    std::vector<RangePiece> ranges() const { return pieces_.all(); }
    std::vector<RangePiece> within(const AddressRange& range) const {
        return pieces_.within(range);
    }  // cut to the range
    std::size_t size() const { return pieces_.size(); }
    Bytes left_out() const { return pieces_.left_out(); }
    // The part of the bytes of a stack that is likely to be unmapped soon, see Trough. `now_ns`: boot clock.
    std::int64_t passing(std::uint64_t stack, std::uint64_t now_ns) const;
    // True if the stack has mapped private memory in pieces of kPythonArena only.
    bool is_arena_sized(std::uint64_t stack) const;

  private:
    static constexpr std::uint64_t kPythonArena = 1 << 20;  // bytes, in CPython 3.10 to 3.15
    static constexpr std::size_t kMostTroughs = 4096;
    static constexpr std::size_t kMostSized = 16384;
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
    void note_troughs(const RangeEvent& event);
    void note_size(const RangeEvent& event);
    std::optional<Taken> taken_by(const RangeEvent& event, ms_range_call call, const AddressRange& range);
    bool put_back(const RangeEvent& event, ms_range_call call, const AddressRange& range);
    void detach(const RangeEvent& event);
    bool move(const RangeEvent& event);
    void copy(const RangeEvent& event);
    void protect(const RangeEvent& event);
    bool holds_unknown(const AddressRange& range) const;
    void attach(const RangeEvent& event);

    RangePieces pieces_;
    std::map<pid_t, Taken> taken_{};                         // by thread
    std::map<std::uint64_t, Attached> attached_{};           // by address
    std::unordered_map<std::uint64_t, Trough> troughs_{};    // by stack
    std::unordered_map<std::uint64_t, bool> arena_sized_{};  // by stack
};

}  // namespace memscope
