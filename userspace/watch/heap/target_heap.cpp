#include "watch/heap/target_heap.h"

#include <algorithm>
#include <utility>

#include "analysis/heap/held_objects.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/object_growth.h"

namespace memscope {
namespace {

constexpr Bytes kLeastGrowth{std::uint64_t{4} << 20};  // before another early census is wanted
constexpr int kMostEarly = 3;

const Process* find(const TargetSnapshot& out, const ProcessId& id) {
    const auto process =
        std::ranges::lower_bound(out.processes, id.pid, {}, [](const Process& each) { return each.task.id.pid; });
    return process != out.processes.end() && process->task.id == id ? &*process : nullptr;
}

const Process* find(const TargetSnapshot& out, pid_t pid) {
    const auto process =
        std::ranges::lower_bound(out.processes, pid, {}, [](const Process& each) { return each.task.id.pid; });
    return process != out.processes.end() && process->task.id.pid == pid ? &*process : nullptr;
}

// Only DataLoader workers of one loader do the same work. Ranks and helpers do not.
bool is_mate(const Process& a, const Process& b) {
    return a.role == Role::dataloader_worker && a.task.id != b.task.id &&
           are_alike({a.role, a.rank}, a.own_anon(), {b.role, b.rank}, b.own_anon());
}

// The process that holds the most memory of this GPU.
const Process* most_on(const TargetSnapshot& out, const GpuId& gpu) {
    const Process* most = nullptr;
    Bytes largest;
    if (!out.gpu) return nullptr;
    for (const auto& [pid, held] : out.gpu->processes) {
        const auto use = held.devices.find(gpu);
        if (use == held.devices.end()) continue;
        const Bytes used = std::max(use->second.used.value_or(Bytes{}), use->second.reserved_total());
        const Process* process = find(out, pid);
        if (process && (!most || used > largest)) {
            most = process;
            largest = used;
        }
    }
    return most;
}

// The growing processes that the verdicts name.
std::vector<const Process*> growing(const TargetSnapshot& out) {
    std::vector<const Process*> processes;
    for (const ScopeVerdict& verdict : out.verdicts) {
        if (verdict.judgement.verdict != Verdict::leaking && verdict.scope != VerdictScope::target) continue;
        const Process* process = verdict.scope == VerdictScope::gpu ? most_on(out, verdict.gpu)
                                 : verdict.grower                   ? find(out, verdict.grower->pid)
                                                                    : nullptr;
        if (process && std::ranges::find(processes, process) == processes.end()) processes.push_back(process);
    }
    return processes;
}

bool leaks(const TargetSnapshot& out) {
    return std::ranges::any_of(out.verdicts, [](const ScopeVerdict& verdict) {
        return verdict.scope != VerdictScope::pinned && verdict.judgement.verdict == Verdict::leaking;
    });
}

}  // namespace

void TargetHeap::add(HeapCensus census) {
    const ProcessId process = census.process;
    auto found = kept_.find(process);
    if (found != kept_.end()) {
        found->second.earlier = std::exchange(found->second.census, std::move(census));
    } else {
        if (kept_.size() >= kMostProcesses)
            kept_.erase(
                std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.census.time; }));
        found = kept_.emplace(process, Kept{.census = std::move(census)}).first;
    }
    add_objects(found->second);
}

void TargetHeap::add_objects(Kept& kept) {
    if (!kept.census.objects) return;
    if (kept.census.objects->refusal != ObjectsRefusal::none) {
        if (!kept.held) kept.held = held_objects(kept.census, nullptr);
        return;
    }
    kept.with_objects = std::make_shared<const HeapCensus>(kept.census);
    // A census that has reached its time limit cannot explain growth or be a baseline.
    if (!has_sizes(kept.census) && kept.held && kept.held->over) return;
    if (rebase_.erase(kept.census.process) > 0 || (kept.baseline && !has_sizes(*kept.baseline))) kept.baseline.reset();
    kept.held = held_objects(kept.census, kept.baseline.get());
    if (!kept.baseline) kept.baseline = kept.with_objects;
}

void TargetHeap::describe(TargetSnapshot& out) {
    std::erase_if(kept_, [&](const auto& entry) {
        const Process* process = find(out, entry.first);
        if (!process) return true;
        const Kept& kept = entry.second;
        ProcessHeap& heap = out.heap.emplace_back(ProcessHeap{.role = {process->role, process->rank},
                                                              .census = kept.census,
                                                              .earlier = kept.earlier,
                                                              .held = kept.held,
                                                              .with_objects = kept.with_objects});
        if (heap.held)
            heap.held->alike = static_cast<std::uint64_t>(
                std::ranges::count_if(out.processes, [&](const Process& each) { return is_mate(*process, each); }));
        return false;
    });
    std::erase_if(rebase_, [&](const ProcessId& id) { return !find(out, id); });
    std::ranges::stable_sort(out.heap,
                             [](const ProcessHeap& a, const ProcessHeap& b) { return a.census.anon > b.census.anon; });
}

// The process whose objects are read instead of those of `process`: a similar worker that has a census with objects,
// because its next census then gives a difference.
const Process* TargetHeap::stand_in(const Process& process, const TargetSnapshot& out) const {
    const auto own = kept_.find(process.task.id);
    if (own != kept_.end() && own->second.with_objects) return &process;
    for (const auto& [id, kept] : kept_) {
        const Process* other = find(out, id);
        if (kept.with_objects && other && is_mate(process, *other)) return other;
    }
    return &process;
}

// True if a process that grows has one census with objects, but no earlier one to compare it with.
bool TargetHeap::lacks_difference(const TargetSnapshot& out) const {
    return std::ranges::any_of(growing(out), [&](const Process* process) {
        const auto kept = kept_.find(stand_in(*process, out)->task.id);
        return kept != kept_.end() && kept->second.with_objects && !kept->second.held->over;
    });
}

// A verdict takes minutes. Until there is one, two censuses of the largest process show which containers grow: the
// first soon after watching began, the second when the process has grown. A third census follows if the first two name
// no holder, because one of them was not complete.
std::optional<CensusWish> TargetHeap::early_census(Seconds now, const TargetSnapshot& out) {
    const ScopeVerdict* whole = out.verdict();
    const bool too_early =
        !whole || whole->judgement.verdict == Verdict::insufficient || whole->judgement.verdict == Verdict::warming_up;
    if (!too_early) return std::nullopt;
    const Process* process = nullptr;
    if (early_process_) {
        process = find(out, *early_process_);
        const auto kept = kept_.find(*early_process_);
        if (early_ == kMostEarly || !process || kept == kept_.end() || !kept->second.with_objects) return std::nullopt;
        const bool answered = kept->second.held && names_holder(*kept->second.held);
        if (answered || kept->second.with_objects->time <= early_census_seen_.value_or(0)) return std::nullopt;
        if (process->own_anon() < kept->second.census.anon + kLeastGrowth) return std::nullopt;
        early_census_seen_ = kept->second.with_objects->time;  // no other wish until the next census is complete
    } else {
        const std::vector<CensusWish> largest = largest_processes(out.processes);
        if (largest.empty()) return std::nullopt;
        if (!began_) began_ = now;
        if (now - *began_ < early_census_after_) return std::nullopt;
        early_process_ = largest.front().process;
        process = find(out, *early_process_);
    }
    ++early_;
    return CensusWish{.process = process->task.id, .anon = process->own_anon(), .objects = true, .soon = true};
}

std::vector<CensusWish> TargetHeap::wishes(Seconds now, const TargetSnapshot& out, bool only_target) {
    using Reason = CensusTrigger::Reason;
    Reason reason = trigger_.update(now, out);
    if (reason == Reason::none && leaks(out) && lacks_difference(out)) reason = Reason::urgent;
    if (reason == Reason::none) {
        const auto wish = only_target ? early_census(now, out) : std::nullopt;
        return wish ? std::vector{*wish} : std::vector<CensusWish>{};
    }
    std::vector<CensusWish> wishes = largest_processes(out.processes);
    for (CensusWish& wish : wishes) {
        wish.urgent = reason != Reason::warmup_ended;
        wish.objects = reason == Reason::warmup_ended;
    }
    if (reason == Reason::warmup_ended) {
        for (const CensusWish& wish : wishes) rebase_.insert(wish.process);
        return wishes;
    }
    std::vector<ProcessId> read;
    for (const Process* process : growing(out)) read.push_back(stand_in(*process, out)->task.id);
    if (read.empty() && !wishes.empty()) read.push_back(wishes.front().process);
    for (const ProcessId& id : read) {
        const Process& process = *find(out, id);
        auto wish = std::ranges::find(wishes, id, &CensusWish::process);
        if (wish == wishes.end())
            wish = wishes.insert(wishes.end(), CensusWish{.process = id, .anon = process.own_anon(), .urgent = true});
        wish->objects = true;
        wish->always = reason == Reason::leak_found;
    }
    return wishes;
}

Bytes TargetHeap::objects_size() const {
    Bytes sum;
    for (const auto& [id, kept] : kept_) {
        if (kept.with_objects) sum += approximate_size(*kept.with_objects->objects);
        if (kept.baseline && kept.baseline != kept.with_objects) sum += approximate_size(*kept.baseline->objects);
    }
    return sum;
}

std::map<ProcessId, TargetHeap::Kept>::iterator TargetHeap::find_oldest_objects() {
    auto oldest = kept_.end();
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept)
        if (kept->second.with_objects &&
            (oldest == kept_.end() || kept->second.with_objects->time < oldest->second.with_objects->time))
            oldest = kept;
    return oldest;
}

std::optional<double> TargetHeap::oldest_objects() {
    const auto oldest = find_oldest_objects();
    return oldest == kept_.end() ? std::nullopt : std::optional(oldest->second.with_objects->time);
}

void TargetHeap::drop_oldest_objects() {
    const auto oldest = find_oldest_objects();
    if (oldest == kept_.end()) return;
    Kept& kept = oldest->second;
    kept.with_objects.reset();
    kept.baseline.reset();
    kept.census.objects.reset();
    if (kept.earlier) kept.earlier->objects.reset();
}

}  // namespace memscope
