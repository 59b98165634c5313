#include "watch/growth/mapped_recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/result.h"
#include "sources/proc/process_maps.h"
#include "watch/clock.h"

namespace memscope {
namespace {

// Reading the maps of a process takes about 0.1 ms: at most this many in a tick, the others in the next.
constexpr std::size_t kMostReadPerTick = 200;

std::int64_t number(Bytes bytes) { return static_cast<std::int64_t>(bytes.n); }

std::vector<HeldAtStack> held_at_stacks(const MappedGrowth::Process& process, std::uint64_t now_ns) {
    std::vector<HeldAtStack> held;
    held.reserve(process.ranges.totals().stacks.size());
    for (const auto& [stack, bytes] : process.ranges.totals().stacks)
        held.push_back({process.id, StackId{stack}, number(bytes.sum()), process.ranges.passing(stack, now_ns),
                        process.ranges.is_arena_sized(stack)});
    return held;
}

}  // namespace

void MappedRecorder::take_events(Session& session) {
    drain(session);
    if (readings_.empty()) return;
    std::vector<ProcessId> under_way;
    under_way.reserve(readings_.size());
    for (const auto& [id, reading] : readings_) under_way.push_back(id);
    for (const ProcessId& id : under_way) read(id);
}

void MappedRecorder::drain(Session& session) {
    const std::lock_guard lock(mutex_);
    session.drain({.range = [this](const RangeEvent& event) {
        growth_.apply(event);
        listener_.event(event);
        if (const auto reading = readings_.find(event.id); reading != readings_.end()) note(reading->second, event);
    }});
    listener_.drained();
}

void MappedRecorder::note(Reading& reading, const RangeEvent& event) {
    if (reading.too_many) return;
    if (reading.since.size() >= kMostSince || since_count_ >= kMostSinceOfAll) {
        reading.too_many = true;
        since_count_ -= std::exchange(reading.since, {}).size();
        return;
    }
    reading.since.push_back(event);
    ++since_count_;
}

MappedRecorder::Reading MappedRecorder::take(std::map<ProcessId, Reading>::iterator reading) {
    Reading taken = std::move(reading->second);
    since_count_ -= taken.since.size();
    readings_.erase(reading);
    return taken;
}

void MappedRecorder::begin(const TrackedProcess& process) {
    const std::lock_guard lock(mutex_);
    growth_.track(process.task.id, 0);
}

void MappedRecorder::read(const ProcessId& id) {
    if (readings_.size() >= kMostReadings && !readings_.contains(id)) return;  // a later tick reads the process
    const auto [place, is_new] = readings_.try_emplace(id);
    if (is_new) place->second.number = ++numbers_;
    const auto maps =
        reads_->quick.ask(MapsJob{.pid = id.pid, .reader = MapsReader::mapped_growth, .number = place->second.number});
    if (!maps) return;
    const Reading reading = take(place);
    const std::lock_guard lock(mutex_);
    if (reading.too_many) return;                       // the result is older than events that were dropped
    if (!*maps && is_retryable(maps->error())) return;  // a later tick tries again
    if (!*maps) return growth_.end(id);
    growth_.reconcile(id, found_ranges(parse_process_maps((*maps)->text)), (*maps)->began_ns);
    for (const RangeEvent& event : reading.since) growth_.apply(event);
}

void MappedRecorder::tick(Session& session, const ProcessTable& processes) {
    drain(session);
    std::vector<ProcessId> wanted;
    {
        const std::lock_guard lock(mutex_);
        for (const TrackedProcess& process : processes.ended()) {
            growth_.end(process.task.id);
            if (const auto reading = readings_.find(process.task.id); reading != readings_.end()) (void)take(reading);
        }
        wanted = growth_.to_be_read();
    }
    std::size_t asked = 0;
    for (const ProcessId& id : wanted) {
        if (reads_->quick.is_blocked(id.pid)) continue;
        if (++asked > kMostReadPerTick) break;
        read(id);
    }
    drain(session);
    const std::uint64_t lost = session.losses()["ranges_full"];
    if (std::exchange(lost_, lost) == lost) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [pid, process] : processes.living())
        if (const auto its = session.tree().lost_ranges(pid)) growth_.track(process.task.id, *its);
}

MappedRecorder::Held MappedRecorder::held(const std::vector<Process>& processes) const {
    Held held;
    const std::uint64_t now_ns = read_clock().boot_ns;
    const std::lock_guard lock(mutex_);
    for (const Process& process : processes) {
        const auto found = growth_.find(process.task.id);
        if (!found) continue;
        const MappedTotals& totals = found->ranges.totals();
        std::ranges::move(held_at_stacks(*found, now_ns), std::back_inserter(held.stacks));
        held.unknown += number(totals.unknown);
        held.left_out += number(found->ranges.left_out());
        held.file += number(totals.file);
        held.reserved += number(totals.reserved);
    }
    return held;
}

std::vector<HeldAtStack> MappedRecorder::held(const ProcessId& process) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = growth_.find_ended(process)) return held_at_stacks(*found, read_clock().boot_ns);
    return {};
}

void MappedRecorder::forget_ended() {
    const std::lock_guard lock(mutex_);
    growth_.forget_ended();
}

std::vector<StackId> MappedRecorder::mapped_by(const ProcessId& process,
                                               const std::vector<AddressRange>& ranges) const {
    std::vector<StackId> stacks(ranges.size(), kNoStack);
    const std::lock_guard lock(mutex_);
    const auto found = growth_.find(process);
    if (!found) return stacks;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        std::map<StackId, std::uint64_t> bytes;  // kNoStack: of other owners
        for (const RangePiece& piece : found->ranges.within(ranges[i]))
            bytes[piece.use.owner == RangeOwner::stack ? StackId{piece.use.stack} : kNoStack] +=
                piece.range.end - piece.range.begin;
        const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
        if (most != bytes.end()) stacks[i] = most->first;
    }
    return stacks;
}

std::set<StackId> MappedRecorder::stacks() const {
    std::set<StackId> stacks;
    const std::lock_guard lock(mutex_);
    growth_.visit([&](const MappedGrowth::Process& process) {
        for (const auto& [stack, bytes] : process.ranges.totals().stacks) stacks.insert(StackId{stack});
    });
    return stacks;
}

}  // namespace memscope
