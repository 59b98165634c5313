#include "analysis/targets/growth_cause.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr std::size_t kMostSteps = 128;
// Share of the time since the leak began; the floor of this last part is the floor now.
constexpr double kLatest = 0.125;

const HeldParts& lower(const HeldParts& a, const HeldParts& b) { return b.judged < a.judged ? b : a; }

}  // namespace

HeldParts held_parts(const TargetSnapshot& target, Bytes judged) {
    HeldParts parts{.judged = judged};
    for (const auto& [role, unshared] : target.sharing.unshared) parts.unshared += unshared.bytes;
    const MemoryState& memory = target.memory;
    if (!memory.measured_at.empty()) return parts;
    if (memory.page_tables)
        parts.page_tables = *memory.page_tables;
    else  // cgroup v1 does not report them, so they are summed up by process
        for (const Process& process : target.processes)
            if (process.task.memory) parts.page_tables += process.task.memory->page_tables;
    parts.shmem = memory.by_kind.shmem;
    // Without reclaimable slab, which is in `kernel` and not in `unreclaimable`.
    const Bytes kernel = std::min(memory.by_kind.kernel, memory.unreclaimable - memory.by_kind.anon - parts.shmem);
    parts.kernel = kernel - parts.page_tables;
    return parts;
}

void PartsHistory::add(Seconds now, const HeldParts& parts) {
    if (!steps_.empty() && now - steps_.back().began < step_) {
        steps_.back().lowest = lower(steps_.back().lowest, parts);
        return;
    }
    if (steps_.size() == kMostSteps) {
        for (std::size_t i = 0; i < kMostSteps / 2; ++i)
            steps_[i] = {steps_[2 * i].began, lower(steps_[2 * i].lowest, steps_[2 * i + 1].lowest)};
        steps_.resize(kMostSteps / 2);
        step_ *= 2;
    }
    steps_.push_back({now, parts});
}

std::optional<PartsHistory::Ends> PartsHistory::ends_since(Seconds then) const {
    if (steps_.empty()) return std::nullopt;
    // The step that contains `then`, or the first one after it.
    auto first = std::ranges::find_if(steps_, [&](const Step& step) { return step.began + step_ > then; });
    if (first == steps_.end()) return std::nullopt;
    const Seconds latest = steps_.back().began - (steps_.back().began - first->began) * kLatest;
    const HeldParts& before = first->lowest;
    const HeldParts* now = &steps_.back().lowest;
    for (auto step = steps_.rbegin(); step != steps_.rend() && step->began >= latest; ++step)
        now = &lower(*now, step->lowest);
    if (now->judged <= before.judged) return std::nullopt;
    return Ends{.before = before, .now = *now};
}

std::optional<PartsHistory::Rise> PartsHistory::rise_since(Seconds then) const {
    const auto ends = ends_since(then);
    if (!ends) return std::nullopt;
    return Rise{.from = ends->before.judged, .by = ends->now.judged - ends->before.judged};
}

std::optional<GrowthCause> PartsHistory::cause_since(Seconds then) const {
    const auto ends = ends_since(then);
    if (!ends) return std::nullopt;
    const auto& [before, now] = *ends;
    const Bytes rise = now.judged - before.judged;

    using Kind = GrowthCause::Kind;
    GrowthCause most{.kind = Kind::unsharing, .bytes = now.unshared - before.unshared};
    const auto consider = [&](Kind kind, Bytes HeldParts::* part) {
        if (const Bytes bytes = now.*part - before.*part; bytes > most.bytes) most = {.kind = kind, .bytes = bytes};
    };
    consider(Kind::shared_memory, &HeldParts::shmem);
    consider(Kind::page_tables, &HeldParts::page_tables);
    consider(Kind::kernel, &HeldParts::kernel);
    most.share = std::min(static_cast<double>(most.bytes.n) / static_cast<double>(rise.n), 1.0);
    if (most.share <= kMostOfTheRise) return std::nullopt;
    most.bytes = std::min(most.bytes, rise);
    return most;
}

}  // namespace memscope
