#include "model/growth/live_samples.h"

#include <algorithm>
#include <optional>

namespace memscope {
namespace {

StackId moved(const LiveSamples::Moves& moves, StackId stack) {
    const auto found = moves.find(stack);
    return found == moves.end() ? stack : found->second;
}

}  // namespace

void LiveSamples::insert(Space& space, std::uint64_t address, const Sample& sample) {
    // An older sample at this address stays, because its stack touched the page first.
    if (!space.samples.emplace(address, sample).second) return;
    space.bytes[sample.stack] += sample.bytes;
    ++count_;
}

LiveSamples::Samples::iterator LiveSamples::erase(Space& space, Samples::iterator sample) {
    if (const auto sum = space.bytes.find(sample->second.stack); sum != space.bytes.end()) {
        sum->second -= sample->second.bytes;
        if (sum->second == 0) space.bytes.erase(sum);
    }
    --count_;
    return space.samples.erase(sample);
}

void LiveSamples::clear(Space& space) {
    count_ -= space.samples.size();
    space.samples.clear();
    space.absent.clear();
    space.bytes.clear();
}

// A huge page is one sample for 2 MiB. It is kept as several, because parts of it can be unmapped or split off.
void LiveSamples::add(const GrowthSample& sample) {
    constexpr std::int64_t kMost = std::int64_t{512} << 10;
    constexpr std::uint64_t kHuge = std::uint64_t{2} << 20;
    if (sample.address == 0 || sample.bytes <= kMost) return add_one(sample);
    GrowthSample part = sample;
    part.address &= ~(kHuge - 1);
    part.bytes = kMost;
    for (std::int64_t left = sample.bytes; left > 0; left -= kMost, part.address += kMost) add_one(part);
}

void LiveSamples::add_one(const GrowthSample& sample) {
    Space& space = spaces_[sample.process];
    const StackId stack = sample.time_ns <= moved_ns_ ? moved(moves_, sample.stack) : sample.stack;
    if (sample.space < space.id) return;  // the sample is of the program before an exec
    if (sample.space > space.id) {
        clear(space);
        space.id = sample.space;
        space.halvings = 0;
    }
    if (sample.address == 0) {  // a net change
        space.bytes[stack] += sample.bytes;
        return;
    }
    if ((space.arrived++ & ((std::uint64_t{1} << space.halvings) - 1)) != 0) return;
    std::uint64_t address = sample.address;
    for (const Change& later : space.changes) {
        if (later.time_ns <= sample.time_ns || address < later.range.begin || address >= later.range.end) continue;
        if (!later.moves) return;
        address = address - later.range.begin + later.moved_to;
    }
    insert(space, address, {sample.time_ns, stack, sample.bytes << space.halvings});
    if (space.samples.size() > limits_.process) thin(sample.process);
    if (count_ > limits_.all) make_room();
}

void LiveSamples::change(Space& space, const Change& change) {
    std::vector<std::pair<std::uint64_t, Sample>> moved;
    auto it = space.samples.lower_bound(change.range.begin);
    while (it != space.samples.end() && it->first < change.range.end) {
        if (it->second.time_ns >= change.time_ns) {
            ++it;
            continue;
        }
        if (change.moves) moved.emplace_back(it->first - change.range.begin + change.moved_to, it->second);
        it = erase(space, it);
    }
    for (const auto& [address, sample] : moved) insert(space, address, sample);
    bring_back(space, change);
    space.changes.push_back(change);
    if (space.changes.size() > limits_.recent) space.changes.pop_front();
}

// Restores the samples of pages that were not found at their old address because they had moved.
void LiveSamples::bring_back(Space& space, const Change& change) {
    auto it = space.absent.lower_bound(change.range.begin);
    while (it != space.absent.end() && it->first < change.range.end) {
        const auto& [sample, found_ns] = it->second;
        if (sample.time_ns >= change.time_ns || change.time_ns > found_ns) {
            ++it;
            continue;
        }
        if (change.moves) insert(space, it->first - change.range.begin + change.moved_to, sample);
        it = space.absent.erase(it);
    }
}

namespace {

// The range from which an event removes pages: it unmaps, replaces or discards them, or moves them elsewhere.
struct Removed {
    AddressRange range{};
    bool moves = false;
};

std::optional<Removed> removed_by(const RangeEvent& event) {
    switch (event.call) {
        case MS_RANGE_MAP:
        case MS_RANGE_UNMAP:
        case MS_RANGE_GIVE_BACK:
            return Removed{event.range};
        case MS_RANGE_MOVED:
        case MS_RANGE_COPIED:  // moves the pages only if the old range has a size (MREMAP_DONTUNMAP)
            return Removed{event.old, true};
        default:
            return std::nullopt;
    }
}

}  // namespace

void LiveSamples::apply(const RangeEvent& event) {
    if (event.call == MS_RANGE_END) return end(event.id);
    const auto found = spaces_.find(event.id);
    if (event.call == MS_RANGE_FORK || event.call == MS_RANGE_EXEC) {  // no sample of the previous address space stays
        Space& fresh = spaces_[event.id];
        change(fresh, {.time_ns = event.time_ns, .range = {0, UINT64_MAX}});
        fresh.lost = event.lost;
        return;
    }
    const auto removed = removed_by(event);
    if (!removed || removed->range.begin == removed->range.end) return;
    Space& space = found != spaces_.end() ? found->second : spaces_[event.id];
    // memscope does not know which pages the lost events have removed, and the addresses of these pages may be in use
    // again. So all samples are dropped.
    if (event.lost > space.lost) clear(space);
    space.lost = event.lost;
    if (removed->moves && event.range.size() < removed->range.size()) {  // it shrinks: the rest is unmapped
        const std::uint64_t kept = removed->range.begin + event.range.size();
        change(space, {.time_ns = event.time_ns, .range = {kept, removed->range.end}});
        change(space, {.time_ns = event.time_ns,
                       .range = {removed->range.begin, kept},
                       .moves = true,
                       .moved_to = event.range.begin});
        return;
    }
    if (removed->moves && removed->range.begin == event.range.begin) return;  // grown in place
    change(space, {.time_ns = event.time_ns,
                   .range = removed->range,
                   .moves = removed->moves,
                   .moved_to = removed->moves ? event.range.begin : 0});
}

void LiveSamples::end(const ProcessId& process) {
    const auto found = spaces_.find(process);
    if (found == spaces_.end()) return;
    clear(found->second);
    spaces_.erase(found);
}

void LiveSamples::forget_events_before(std::uint64_t time_ns) {
    if (moved_ns_ < time_ns) moves_.clear();
    for (auto each = spaces_.begin(); each != spaces_.end();) {
        Space& space = each->second;
        while (!space.changes.empty() && space.changes.front().time_ns < time_ns) space.changes.pop_front();
        std::erase_if(space.absent, [&](const auto& entry) { return entry.second.found_ns < time_ns; });
        const bool unused =
            space.changes.empty() && space.bytes.empty() && space.absent.empty() && space.id == SpaceId{};
        each = unused ? spaces_.erase(each) : std::next(each);
    }
}

std::vector<HeldAtStack> LiveSamples::held(const ProcessId& process) const {
    std::vector<HeldAtStack> held;
    const auto found = spaces_.find(process);
    if (found == spaces_.end()) return held;
    held.reserve(found->second.bytes.size());
    for (const auto& [stack, bytes] : found->second.bytes)
        if (bytes > 0) held.push_back({process, stack, bytes});
    return held;
}

std::size_t LiveSamples::count(const ProcessId& process) const {
    const auto found = spaces_.find(process);
    return found == spaces_.end() ? 0 : found->second.samples.size();
}

std::map<StackId, std::int64_t> LiveSamples::by_stack() const {
    std::map<StackId, std::int64_t> sums;
    for (const auto& [process, space] : spaces_)
        for (const auto& [stack, bytes] : space.bytes) sums[stack] += bytes;
    return sums;
}

std::vector<std::uint64_t> LiveSamples::addresses(const ProcessId& process, std::uint64_t from,
                                                  std::size_t most) const {
    std::vector<std::uint64_t> addresses;
    const auto found = spaces_.find(process);
    if (found == spaces_.end()) return addresses;
    const Samples& samples = found->second.samples;
    for (auto it = samples.lower_bound(from); it != samples.end() && addresses.size() < most; ++it)
        addresses.push_back(it->first);
    return addresses;
}

void LiveSamples::remove_absent(const ProcessId& process, const std::vector<std::uint64_t>& addresses,
                                std::uint64_t began_ns, std::uint64_t ended_ns) {
    const auto found = spaces_.find(process);
    if (found == spaces_.end()) return;
    Space& space = found->second;
    for (const std::uint64_t address : addresses) {
        const auto sample = space.samples.find(address);
        if (sample == space.samples.end() || sample->second.time_ns >= began_ns) continue;
        if (space.absent.size() < limits_.recent)
            space.absent.insert_or_assign(address, Absent{sample->second, ended_ns});
        erase(space, sample);
    }
}

void LiveSamples::move_stacks(const Moves& to, std::uint64_t now_ns) {
    // The samples that arrive before forget_events_before() ends the moves.
    for (auto& [from, stack] : moves_) stack = moved(to, stack);
    moves_.insert(to.begin(), to.end());
    moved_ns_ = now_ns;
    for (auto& [process, space] : spaces_) {
        std::unordered_map<StackId, std::int64_t> sums;
        bool any = false;
        for (const auto& [stack, bytes] : space.bytes) {
            const StackId at = moved(to, stack);
            sums[at] += bytes;
            any = any || at != stack;
        }
        if (!any) continue;
        space.bytes = std::move(sums);
        for (auto& [address, sample] : space.samples) sample.stack = moved(to, sample.stack);
        for (auto& [address, absent] : space.absent) absent.sample.stack = moved(to, absent.sample.stack);
    }
}

void LiveSamples::thin(const ProcessId& process) {
    const auto found = spaces_.find(process);
    if (found == spaces_.end()) return;
    Space& space = found->second;
    ++space.halvings;
    space.absent.clear();  // the bytes of these samples are not doubled, so they must not come back
    // Keeps every second sample in the order of addresses, because neighbours were mostly touched at the same stack.
    bool keep = false;
    for (auto it = space.samples.begin(); it != space.samples.end();) {
        keep = !keep;
        if (!keep) {
            it = erase(space, it);
            continue;
        }
        space.bytes[it->second.stack] += it->second.bytes;
        it->second.bytes *= 2;
        ++it;
    }
}

void LiveSamples::make_room() {
    const auto largest =
        std::ranges::max_element(spaces_, {}, [](const auto& entry) { return entry.second.samples.size(); });
    if (largest != spaces_.end()) thin(largest->first);
}

}  // namespace memscope
