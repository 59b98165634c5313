#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/range_event.h"

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

}  // namespace memscope
