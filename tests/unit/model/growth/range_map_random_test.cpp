// Random events in random order: the map of ranges must equal a list of single pages.
#include <array>
#include <gtest/gtest.h>
#include <random>

#include "unit/model/growth/ranges.h"

namespace memscope {
namespace range_map_random_test {

constexpr std::uint64_t kUnits = 96;

// The same map, kept one page at a time in the simplest way.
class Naive {
  public:
    using Unit = std::optional<RangeUse>;

    void apply(const RangeEvent& e) {
        const auto from = e.range.begin / kUnit, to = e.range.end / kUnit;
        const auto old_from = e.old.begin / kUnit, old_to = e.old.end / kUnit;
        if (e.call == MS_RANGE_MAP)
            for (auto i = from; i < to; ++i) units_[i] = fresh(e.kind, e.access, e.stack);
        if (e.call == MS_RANGE_UNMAP) taken_ = take(from, to);
        if (e.call == MS_RANGE_UNMAP_FAILED) put_back(from);
        if (e.call == MS_RANGE_MOVE_BEGINS) taken_ = take(old_from, old_to);
        if (e.call == MS_RANGE_MOVE_FAILED) put_back(old_from);
        if (e.call == MS_RANGE_MOVED) move(e, from, to);
        if (e.call == MS_RANGE_PROTECT)
            for (auto i = from; i < to; ++i) protect(units_[i], e);
    }
    const std::array<Unit, kUnits>& units() const { return units_; }
    bool is_one_mapping(std::uint64_t from, std::uint64_t to) const {
        for (auto i = from; i < to; ++i)
            if (!units_[i] || units_[i]->kind != units_[from]->kind || units_[i]->access != units_[from]->access)
                return false;
        return true;
    }

  private:
    static RangeUse fresh(RangeKind kind, Access access, std::uint64_t stack) {
        const bool grows = access.writable && kind != RangeKind::file && kind != RangeKind::other;
        return {kind, access, grows ? RangeOwner::stack : RangeOwner::none, grows ? stack : 0};
    }
    std::vector<Unit> take(std::uint64_t from, std::uint64_t to) {
        std::vector<Unit> taken(units_.begin() + static_cast<long>(from), units_.begin() + static_cast<long>(to));
        for (auto i = from; i < to; ++i) units_[i].reset();
        return taken;
    }
    void put_back(std::uint64_t from) {
        for (std::size_t i = 0; i < taken_.size(); ++i)
            if (!units_[from + i]) units_[from + i] = taken_[i];
    }
    void move(const RangeEvent& e, std::uint64_t from, std::uint64_t to) {
        for (auto i = from; i < to; ++i) {
            const std::size_t at = i - from;
            units_[i] = at < taken_.size() ? taken_[at] : fresh(taken_.back()->kind, taken_.back()->access, e.stack);
        }
    }
    static void protect(Unit& unit, const RangeEvent& e) {
        if (!unit) return;
        if (unit->owner == RangeOwner::none)
            unit = fresh(unit->kind, e.access, e.stack);
        else
            unit->access = e.access;
    }

    std::array<Unit, kUnits> units_{};
    std::vector<Unit> taken_{};
};

class Dice {
  public:
    explicit Dice(unsigned seed) : random_(seed) {}
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    AddressRange range(std::uint64_t most = 24) {
        const std::uint64_t size = 1 + below(most);
        const std::uint64_t from = below(kUnits - size + 1);
        return memscope::units(from, from + size);
    }
    Access access() { return std::array{kNoAccess, kReadable, kWritable, kWritable}[below(4)]; }
    RangeKind kind() { return static_cast<RangeKind>(below(5)); }

  private:
    std::mt19937 random_;
};

std::vector<RangeEvent> any_events(Dice& dice, const Naive& naive) {
    const AddressRange range = dice.range();
    const std::uint64_t stack = 1 + dice.below(3);
    switch (dice.below(8)) {
        case 0:
        case 1:
        case 2:
            return {mapped(range, stack, dice.access(), dice.kind())};
        case 3:
            return {event(MS_RANGE_UNMAP, range)};
        case 4:
            return {event(MS_RANGE_UNMAP, range), by_thread(mapped(dice.range(6), stack), 11),
                    event(MS_RANGE_UNMAP_FAILED, range)};
        case 5:
            return {protect(range, dice.access(), stack)};
        case 6:
            return {remap(MS_RANGE_MOVE_BEGINS, range, {}), by_thread(mapped(dice.range(6), stack), 11),
                    remap(MS_RANGE_MOVE_FAILED, range, {})};
        default:  // mremap() works only within one mapping
            if (!naive.is_one_mapping(range.begin / kUnit, range.end / kUnit)) return {};
            return {remap(MS_RANGE_MOVE_BEGINS, range, {}), remap(MS_RANGE_MOVED, range, dice.range(), stack)};
    }
}

void expect_same(const RangeMap& map, const Naive& naive, unsigned seed) {
    std::array<Naive::Unit, kUnits> units{};
    std::uint64_t end = 0;
    const RangeUse* before = nullptr;
    const auto pieces = map.ranges();
    RangePieces sums(RangeMap::kMostPieces);
    for (const RangePiece& piece : pieces) {
        ASSERT_LE(end, piece.range.begin) << "seed " << seed;
        ASSERT_FALSE(before && end == piece.range.begin && *before == piece.use) << "neighbours, seed " << seed;
        end = piece.range.end;
        before = &piece.use;
        for (auto i = piece.range.begin / kUnit; i < piece.range.end / kUnit; ++i) units[i] = piece.use;
        sums.put(piece.range, piece.use);
    }
    ASSERT_EQ(units, naive.units()) << "seed " << seed;
    ASSERT_EQ(map.totals().stacks, sums.totals().stacks) << "seed " << seed;
    ASSERT_EQ(map.totals().reserved, sums.totals().reserved) << "seed " << seed;
    ASSERT_EQ(map.totals().file, sums.totals().file) << "seed " << seed;
    ASSERT_EQ(map.totals().unwritable, sums.totals().unwritable) << "seed " << seed;
}

TEST(RangeMap, AgreesWithAListOfPagesAfterRandomEvents) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        Dice dice(seed);
        RangeMap map;
        Naive naive;
        for (int step = 0; step < 200; ++step) {
            for (const RangeEvent& e : any_events(dice, naive)) {
                map.apply(e);
                naive.apply(e);
            }
            expect_same(map, naive, seed);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

// A read of /proc/PID/maps at a random moment, with events before and after it applied again.
TEST(RangeMap, EventsThatAreAppliedAgainAfterAReadingDoNoHarm) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        Dice dice(seed);
        RangeMap map, truth;
        Naive naive;
        std::vector<RangeEvent> late;
        for (int step = 0; step < 60; ++step) {
            const RangeEvent e = dice.below(3) == 0 ? event(MS_RANGE_UNMAP, dice.range())
                                                    : mapped(dice.range(), 1 + dice.below(3), kWritable);
            truth.apply(e);
            if (step < 20) map.apply(e);
            if (step >= 20) late.push_back(e);
        }
        std::vector<FoundRange> found;
        for (const RangePiece& piece : truth.ranges()) found.push_back({piece.range, piece.use.kind, piece.use.access});
        map.reconcile(found, RangeOwner::unknown);
        for (const RangeEvent& e : late) map.apply(e);
        ASSERT_EQ(map.ranges(), truth.ranges()) << "seed " << seed;
    }
}

}  // namespace range_map_random_test
}  // namespace memscope
