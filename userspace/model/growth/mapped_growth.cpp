#include "model/growth/mapped_growth.h"

namespace memscope {
namespace {

constexpr int kMostReadings = 8;
const RangeMap kNothing{};

}  // namespace

// An address space without a fork or exec event existed before watching began.
MappedGrowth::Space* MappedGrowth::begin(ProcessId id) {
    const auto found = spaces_.find(id);
    if (found != spaces_.end()) return &found->second;
    if (spaces_.size() >= kMostSpaces) {
        ++refused_;
        return nullptr;
    }
    return &spaces_.emplace(id, Space{.is_new = true, .to_be_read = true}).first->second;
}

// The youngest process of that pid.
MappedGrowth::Space* MappedGrowth::parent_of(const RangeEvent& event) {
    auto found = spaces_.upper_bound({event.parent, UINT64_MAX});
    if (found == spaces_.begin()) return nullptr;
    --found;
    return found->first.pid == event.parent && found->first != event.id ? &found->second : nullptr;
}

RangeMap& MappedGrowth::own(Space& space) {
    if (space.ranges.use_count() > 1) space.ranges = std::make_shared<RangeMap>(*space.ranges);
    if (std::exchange(space.inherited, false)) space.ranges->inherit();
    return *space.ranges;
}

void MappedGrowth::apply(const RangeEvent& event) {
    if (event.call == MS_RANGE_END) return end(event.id);
    Space* const space = begin(event.id);
    if (!space) return;
    if (event.call == MS_RANGE_FORK) {
        const Space* const parent = parent_of(event);
        const bool inherits = parent && parent->ranges->size() <= kMostInherited;
        *space = inherits ? Space{.ranges = parent->ranges,
                                  .inherited = true,
                                  .is_new = parent->is_new,
                                  .to_be_read = parent->to_be_read}
                          : Space{.is_new = true, .to_be_read = !parent};
        space->generation = event.generation;
        space->lost = event.lost;
        return;
    }
    if (event.call == MS_RANGE_EXEC || event.generation != space->generation) {
        const bool missed_exec = event.call != MS_RANGE_EXEC && !space->is_new;
        *space = Space{.is_new = space->is_new && event.call != MS_RANGE_EXEC,
                       .to_be_read = event.call != MS_RANGE_EXEC,
                       .reconciled = space->reconciled + (missed_exec ? 1 : 0),
                       .generation = event.generation};
        space->lost = event.lost;
        if (event.call == MS_RANGE_EXEC) return;
    }
    note_lost(*space, event.lost);
    if (space->is_new) space->to_be_read = true;
    if (event.call == MS_RANGE_ATTACH) space->has_attached = true;
    if (!own(*space).apply(event)) space->to_be_read = true;
}

void MappedGrowth::track(ProcessId id, std::uint64_t lost) {
    if (Space* const space = begin(id)) note_lost(*space, lost);
}

void MappedGrowth::note_lost(Space& space, std::uint64_t lost) {
    if (lost <= space.lost) return;
    space.lost = lost;
    space.to_be_read = true;
    if (!space.is_new) ++space.reconciled;
}

void MappedGrowth::end(ProcessId id) {
    auto space = spaces_.extract(id);
    const Bytes grown = space ? view(id, space.mapped()).ranges.totals().grown() : Bytes{};
    if (grown == Bytes{} || ended_.contains(id)) return;
    ended_.insert(std::move(space));
    ended_by_size_.emplace(grown, id);
    if (ended_.size() <= kMostEnded) return;
    ended_.erase(ended_by_size_.begin()->second);
    ended_by_size_.erase(ended_by_size_.begin());
}

void MappedGrowth::forget_ended() {
    ended_.clear();
    ended_by_size_.clear();
}

std::vector<ProcessId> MappedGrowth::to_be_read() const {
    std::vector<ProcessId> ids;
    for (const auto& [id, space] : spaces_)
        if (space.to_be_read || space.has_attached) ids.push_back(id);
    return ids;
}

void MappedGrowth::reconcile(ProcessId id, std::span<const FoundRange> found, std::uint64_t read_at_ns) {
    const auto at = spaces_.find(id);
    if (at == spaces_.end()) return;
    Space& space = at->second;
    RangeMap& ranges = own(space);
    space.has_attached = false;
    if (!space.to_be_read) return ranges.find_attached(found);
    const bool in_flight = ranges.has_calls_in_flight(read_at_ns > kInFlightNs ? read_at_ns - kInFlightNs : 0);
    ranges.reconcile(found, space.is_new ? RangeOwner::before : RangeOwner::unknown);
    space.to_be_read = in_flight && ++space.readings < kMostReadings;
    if (space.to_be_read) return;
    space.readings = 0;
    space.is_new = false;
}

MappedGrowth::Process MappedGrowth::view(ProcessId id, const Space& space) {
    return {id, space.inherited ? kNothing : *space.ranges, space.reconciled};
}

void MappedGrowth::visit(const std::function<void(const Process&)>& visitor) const {
    for (const auto& [id, space] : spaces_) visitor(view(id, space));
}

std::optional<MappedGrowth::Process> MappedGrowth::find_ended(ProcessId id) const {
    const auto found = ended_.find(id);
    if (found == ended_.end()) return std::nullopt;
    return view(id, found->second);
}

std::optional<MappedGrowth::Process> MappedGrowth::find(ProcessId id) const {
    const auto found = spaces_.find(id);
    if (found == spaces_.end()) return std::nullopt;
    return view(id, found->second);
}

}  // namespace memscope
