#include "watch/mapped_recorder.h"

#include <utility>

#include "sources/found_ranges.h"
#include "watch/clock.h"

namespace memscope {
namespace {

// Reading the maps of a process takes about 0.1 ms: at most this many in a tick, the others in the next.
constexpr std::size_t kMostReadPerTick = 200;

std::int64_t number(Bytes bytes) { return static_cast<std::int64_t>(bytes.n); }

}  // namespace

void MappedRecorder::take_events(Session& session) {
    const std::lock_guard lock(mutex_);
    session.drain_ranges([this](const RangeEvent& event) { growth_.apply(event); });
}

void MappedRecorder::begin(const TrackedProcess& process) {
    const std::lock_guard lock(mutex_);
    growth_.meet(process.task.id, 0);
}

void MappedRecorder::read(const ProcessId& id) {
    const std::uint64_t began = read_clock().boot_ns;
    const auto maps = read_process_maps(root_, id.pid);
    const std::lock_guard lock(mutex_);
    if (maps)
        growth_.reconcile(id, found_ranges(*maps), began);
    else
        growth_.end(id);
}

void MappedRecorder::tick(Session& session, const ProcessTable& processes) {
    take_events(session);
    std::vector<ProcessId> wanted;
    {
        const std::lock_guard lock(mutex_);
        for (const TrackedProcess& process : processes.ended()) growth_.end(process.task.id);
        wanted = growth_.to_be_read();
    }
    if (wanted.size() > kMostReadPerTick) wanted.resize(kMostReadPerTick);
    for (const ProcessId& id : wanted) read(id);
    take_events(session);
    const std::uint64_t lost = session.losses()["ranges_full"];
    if (std::exchange(lost_, lost) == lost) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [pid, process] : processes.living())
        if (const auto its = session.lost_ranges(pid)) growth_.meet(process.task.id, *its);
}

MappedRecorder::Held MappedRecorder::held(const std::vector<Process>& processes) const {
    Held held;
    const std::lock_guard lock(mutex_);
    for (const Process& process : processes) {
        const auto found = growth_.find(process.task.id);
        if (!found) continue;
        const MappedTotals& totals = found->ranges.totals();
        for (const auto& [stack, bytes] : totals.stacks)
            held.stacks.push_back({process.task.id, StackId{stack}, number(bytes.sum())});
        held.unknown += number(totals.unknown);
        held.left_out += number(found->ranges.left_out());
        held.file += number(totals.file);
        held.reserved += number(totals.reserved);
    }
    return held;
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
