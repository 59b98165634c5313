#include "model/range_map.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr Access kReadWrite{.readable = true, .writable = true};

// Mapped now, or made writable now.
RangeUse used(RangeKind kind, const Access& access, std::uint64_t stack) {
    RangeUse use{.kind = kind, .access = access};
    if (is_writable_memory(use)) {
        use.owner = RangeOwner::stack;
        use.stack = stack;
    }
    return use;
}

}  // namespace

bool RangeMap::apply(const RangeEvent& event) {
    switch (event.call) {
        case MS_RANGE_MAP:
            pieces_.put(event.range, used(event.kind, event.access, event.stack));
            return true;
        case MS_RANGE_UNMAP:
            take(event, event.range);
            return true;
        case MS_RANGE_UNMAP_FAILED:
            return put_back(event, MS_RANGE_UNMAP, event.range);
        case MS_RANGE_MOVE_BEGINS:
            take(event, event.old);
            return true;
        case MS_RANGE_MOVED:
            return move(event);
        case MS_RANGE_MOVE_FAILED:
            return put_back(event, MS_RANGE_MOVE_BEGINS, event.old);
        case MS_RANGE_COPIED:
            copy(event);
            return true;
        case MS_RANGE_PROTECT:
            protect(event);
            return true;
        case MS_RANGE_ATTACH:
            attach(event);
            return true;
        case MS_RANGE_DETACH:
            detach(event);
            return true;
        case MS_RANGE_DETACH_FAILED:
            return put_back(event, MS_RANGE_DETACH, event.range);
        default:
            return false;
    }
}

void RangeMap::take(const RangeEvent& event, const AddressRange& range) {
    if (taken_.size() >= kMostThreads && !taken_.contains(event.thread)) taken_.clear();
    taken_[event.thread] = {event.call, event.time_ns, range, pieces_.take(range)};
}

std::optional<RangeMap::Taken> RangeMap::taken_by(const RangeEvent& event, ms_range_call call,
                                                  const AddressRange& range) {
    const auto found = taken_.find(event.thread);
    if (found == taken_.end() || found->second.call != call || found->second.range != range) return std::nullopt;
    auto taken = std::move(found->second);
    taken_.erase(found);
    return taken;
}

bool RangeMap::put_back(const RangeEvent& event, ms_range_call call, const AddressRange& range) {
    const auto taken = taken_by(event, call, range);
    if (!taken) return false;
    for (const RangePiece& piece : taken->pieces) {
        for (const RangePiece& there : pieces_.within(piece.range))  // read from the kernel meanwhile
            if (there.use.owner == RangeOwner::unknown) pieces_.take(there.range);
        pieces_.put_where_empty(piece);
    }
    return true;
}

bool RangeMap::move(const RangeEvent& event) {
    const auto taken = taken_by(event, MS_RANGE_MOVE_BEGINS, event.old);
    if (!taken) return false;
    const std::uint64_t kept = std::min(event.old.size(), event.range.size());
    const AddressRange more{event.range.begin + kept, event.range.end};
    RangeUse use{.kind = RangeKind::anonymous, .access = kReadWrite, .owner = RangeOwner::before};
    if (taken->pieces.empty() && holds_unknown(event.range)) return true;  // read from the kernel when it had moved
    pieces_.take(event.range);
    if (!taken->pieces.empty()) {
        use = taken->pieces.back().use;
    } else if (event.old.size() < MS_RANGE_LEAST_BYTES) {  // too small to have been heard of: all of it is new here
        pieces_.put(event.range, used(RangeKind::anonymous, kReadWrite, event.stack));
        return true;
    } else {  // made by the kernel itself, or before it was followed
        pieces_.put({event.range.begin, more.begin}, use);
    }
    for (const RangePiece& piece : taken->pieces) {
        const std::uint64_t from = piece.range.begin - event.old.begin;
        const std::uint64_t to = std::min(piece.range.end - event.old.begin, kept);
        if (from < to) pieces_.put({event.range.begin + from, event.range.begin + to}, piece.use);
    }
    pieces_.put(more, used(use.kind, use.access, event.stack));
    return true;
}

void RangeMap::copy(const RangeEvent& event) {
    const auto there = pieces_.within({event.old.begin, event.old.begin + 1});
    const RangeUse use = there.empty() ? used(RangeKind::anonymous, kReadWrite, 0) : there.front().use;
    pieces_.put(event.range, used(use.kind, use.access, event.stack));
}

bool RangeMap::holds_unknown(const AddressRange& range) const {
    const auto there = pieces_.within(range);
    return std::any_of(there.begin(), there.end(),
                       [](const RangePiece& piece) { return piece.use.owner == RangeOwner::unknown; });
}

// What has been somebody's stays his: memory that becomes writable once more was mapped where it was the first time.
void RangeMap::protect(const RangeEvent& event) {
    for (const RangePiece& piece : pieces_.within(event.range)) {
        RangeUse use = piece.use;
        use.access = event.access;
        const bool is_free = use.owner == RangeOwner::nobody || use.owner == RangeOwner::unknown;
        if (is_free && is_writable_memory(use)) use = used(use.kind, use.access, event.stack);
        pieces_.put(piece.range, use);
    }
}

void RangeMap::attach(const RangeEvent& event) {
    if (attached_.size() < kMostAttached) attached_[event.range.begin] = {.access = event.access, .stack = event.stack};
}

// Only what is still part of the segment goes: something else may have been mapped over it.
void RangeMap::detach(const RangeEvent& event) {
    const auto found = attached_.find(event.range.begin);
    if (found == attached_.end()) return;
    const AddressRange whole{event.range.begin, event.range.begin + found->second.bytes};
    Taken taken{.call = event.call, .time_ns = event.time_ns, .range = event.range};
    for (const RangePiece& piece : pieces_.within(whole)) {
        if (piece.use.kind != RangeKind::attached) continue;
        pieces_.take(piece.range);
        taken.pieces.push_back(piece);
    }
    if (taken_.size() >= kMostThreads && !taken_.contains(event.thread)) taken_.clear();
    taken_[event.thread] = std::move(taken);
}

void RangeMap::inherit() {
    taken_.clear();
    pieces_.disown();
    for (auto& [address, attached] : attached_) attached.stack = 0;
}

bool RangeMap::has_calls_in_flight(std::uint64_t since_ns) const {
    return std::any_of(taken_.begin(), taken_.end(), [&](const auto& taken) {
        return taken.second.call == MS_RANGE_MOVE_BEGINS || taken.second.time_ns >= since_ns;
    });
}

}  // namespace memscope
