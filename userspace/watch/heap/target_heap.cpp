#include "watch/heap/target_heap.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "analysis/heap/held_objects.h"
#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/missed_holders.h"
#include "analysis/heap/object_growth.h"

namespace memscope {
namespace {

constexpr Bytes kLeastGrowth{std::uint64_t{4} << 20};  // before another early census is wanted
constexpr int kMostEarly = 4;
constexpr int kMostForAnswer = 3;

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

// DataLoader workers of one loader do the same work, and so do the trainers of all ranks. Helpers do not.
bool is_mate(const Process& a, const Process& b) {
    if (a.task.id == b.task.id) return false;
    if (a.role == Role::trainer && a.own_rank() && b.own_rank() && a.own_rank() != b.own_rank())
        return are_alike({a.role}, a.own_anon(), {b.role}, b.own_anon());
    return a.role == Role::dataloader_worker &&
           are_alike({a.role, a.rank}, a.own_anon(), {b.role, b.rank}, b.own_anon());
}

// Adds the process unless a process that does the same work is there.
bool add_unlike(std::vector<ProcessId>& chosen, const Process& process, const TargetSnapshot& out) {
    for (const ProcessId& id : chosen)
        if (id == process.task.id || is_mate(process, *find(out, id))) return false;
    chosen.push_back(process.task.id);
    return true;
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

// The containers of a census that gain; null for one that it does not list. One pass, because a census lists thousands.
std::vector<const Holder*> find(const HeapCensus* census, const std::vector<GrowingContainer>& growing) {
    std::vector<const Holder*> found(growing.size(), nullptr);
    if (!census || !census->objects) return found;
    for (const Holder& holder : census->objects->holders) {
        const auto place = std::ranges::lower_bound(growing, holder.address, {}, &GrowingContainer::address);
        if (place != growing.end() && place->address == holder.address)
            found[static_cast<std::size_t>(place - growing.begin())] = &holder;
    }
    return found;
}

// Adds what is known from the lengths of the containers between the censuses.
void add_lengths(ProcessHeap& heap, const HeapCensus* baseline, const ContainerCurves& curves) {
    if (heap.held)
        for (HolderChange& change : heap.held->holders) {
            change.items_per_second = curves.items_per_second(change.holder.address);
            change.first_seen = curves.first_seen(change.holder.address);
        }
    const std::vector<GrowingContainer> growing = curves.growing();
    if (growing.empty()) return;
    const std::vector<const Holder*> latest = find(heap.with_objects.get(), growing), before = find(baseline, growing);
    struct Candidate {
        std::size_t index = 0;
        double host = 0, device = 0;  // bytes of an item
    };
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < growing.size(); ++i)
        if (const Holder* holder = latest[i] ? latest[i] : before[i])
            candidates.push_back({i, bytes_per_item(*holder, before[i], &Holder::retained),
                                  bytes_per_item(*holder, before[i], &Holder::retained_device)});
    std::ranges::stable_sort(candidates, std::greater{}, [&](const Candidate& each) {
        return growing[each.index].per_second * (each.host + each.device);
    });
    if (candidates.size() > GrowingHolder::kMost) candidates.resize(GrowingHolder::kMost);
    std::vector<GrowingHolder> holders;
    holders.reserve(candidates.size());
    for (const auto& [i, host, device] : candidates)
        holders.push_back({.holder = latest[i] ? *latest[i] : *before[i],
                           .gain = growing[i],
                           .host_per_item = host,
                           .device_per_item = device});
    if (!holders.empty()) heap.growing = std::make_shared<const std::vector<GrowingHolder>>(std::move(holders));
}

Bytes resident_files(const Process& process) { return process.task.memory ? process.task.memory->file : Bytes{}; }

// Tensors on a GPU grow without memory of the host.
bool has_growing_holder(const ProcessHeap& heap) {
    constexpr double kLeast = 1 << 20;  // bytes
    return heap.growing && std::ranges::any_of(*heap.growing, [](const GrowingHolder& each) {
               return static_cast<double>(each.gain.gained) * (each.host_per_item + each.device_per_item) >= kLeast;
           });
}

bool leaks(const TargetSnapshot& out) {
    return std::ranges::any_of(out.verdicts, [](const ScopeVerdict& verdict) {
        return verdict.scope != VerdictScope::pinned && verdict.judgement.verdict == Verdict::leaking;
    });
}

// Its floor is flat, and its spikes may be made of an array that is replaced by a larger one.
bool is_spiky(const TargetSnapshot& out) {
    const ScopeVerdict* whole = out.verdict();
    return whole && whole->judgement.verdict == Verdict::spiky;
}

}  // namespace

void TargetHeap::add(HeapCensus census, const ContainerWatch* containers) {
    const ProcessId process = census.process;
    if (census.objects) saved_ = std::max(saved_ - census.taken, Seconds{});
    auto found = kept_.find(process);
    if (found != kept_.end()) {
        found->second.earlier = std::exchange(found->second.census, std::move(census));
    } else {
        if (kept_.size() >= kMostProcesses)
            kept_.erase(
                std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.census.time; }));
        found = kept_.emplace(process, Kept{.census = std::move(census)}).first;
    }
    add_objects(found->second, containers ? containers->find(process) : nullptr);
}

void TargetHeap::add_objects(Kept& kept, const ContainerCurves* lengths) {
    if (!kept.census.objects) return;
    if (kept.census.objects->refusal != ObjectsRefusal::none) {
        if (!kept.held) kept.held = held_objects(kept.census, nullptr);
        return;
    }
    kept.census.objects = with_missed_holders(kept.census, kept.with_objects.get(), kept.baseline.get(), lengths);
    const auto between = std::exchange(kept.with_objects, std::make_shared<const HeapCensus>(kept.census));
    // A census that has reached its time limit cannot explain growth or be a baseline.
    if (!has_sizes(kept.census) && kept.held && kept.held->over) return;
    const bool is_rebased = rebase_.erase(kept.census.process) > 0;
    if (kept.baseline && !has_sizes(*kept.baseline)) kept.baseline.reset();
    // What is known of the time until then stays known until the next census.
    kept.held = held_objects(kept.census, kept.baseline.get(), between != kept.baseline ? between.get() : nullptr);
    if (is_rebased || !kept.baseline) kept.baseline = kept.with_objects;
}

void TargetHeap::describe(TargetSnapshot& out, const ContainerWatch* containers) {
    std::erase_if(kept_, [&](const auto& entry) {
        const Process* process = find(out, entry.first);
        if (!process) return true;
        const Kept& kept = entry.second;
        ProcessHeap& heap = out.heap.emplace_back(ProcessHeap{.role = {process->role, process->rank},
                                                              .census = kept.census,
                                                              .earlier = kept.earlier,
                                                              .held = kept.held,
                                                              .with_objects = kept.with_objects});
        if (const ContainerCurves* curves = containers ? containers->find(entry.first) : nullptr)
            add_lengths(heap, kept.baseline.get(), *curves);
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
    std::vector<const Process*> processes = growing(out);
    if (processes.empty())
        for (const CensusWish& wish : largest_processes(out.processes)) {
            processes.push_back(find(out, wish.process));
            break;
        }
    return std::ranges::any_of(processes, [&](const Process* process) {
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
        const auto heap = std::ranges::find(out.heap, *early_process_, [](const auto& h) { return h.census.process; });
        if (process->own_anon() < kept->second.census.anon + kLeastGrowth &&
            (heap == out.heap.end() || !has_growing_holder(*heap)))
            return std::nullopt;
        early_census_seen_ = kept->second.with_objects->time;  // no other wish until the next census is complete
    } else {
        const std::vector<CensusWish> largest = largest_processes(out.processes);
        if (largest.empty()) return std::nullopt;
        process = find(out, largest.front().process);
        const Seconds age = now - std::chrono::nanoseconds(process->task.id.start_ns);
        if (!start_.has_calmed(now, resident_files(*process), age)) return std::nullopt;
        early_process_ = process->task.id;
    }
    ++early_;
    return CensusWish{
        .process = process->task.id, .anon = process->own_anon(), .objects = true, .soon = true, .saved = saved_};
}

// The censuses of a leak can name nothing, because the first one fell into the start of the job or was torn. Their
// difference to a later census, a quarter of a minute after the last one, usually does.
std::optional<CensusWish> TargetHeap::census_for_answer(const TargetSnapshot& out) {
    if (unanswered_ >= kMostForAnswer) return std::nullopt;
    for (const Process* process : growing(out)) {
        const Process* read = stand_in(*process, out);
        const auto kept = kept_.find(read->task.id);
        if (kept == kept_.end() || !kept->second.with_objects || !kept->second.held->over) continue;
        const HeldObjects& held = *kept->second.held;
        if (names_holder(held) || names_holder(held, HolderMemory::device)) continue;
        if (kept->second.with_objects->time <= unanswered_seen_.value_or(0)) continue;
        unanswered_seen_ = kept->second.with_objects->time;
        ++unanswered_;
        return CensusWish{
            .process = read->task.id, .anon = read->own_anon(), .urgent = true, .objects = true, .soon = true};
    }
    return std::nullopt;
}

std::vector<CensusWish> TargetHeap::wishes(Seconds now, const TargetSnapshot& out, bool few_targets) {
    using Reason = CensusTrigger::Reason;
    Reason reason = trigger_.update(now, out);
    if (reason == Reason::leak_found) unanswered_ = 0;
    if (reason == Reason::none && (leaks(out) || is_spiky(out)) && lacks_difference(out)) reason = Reason::urgent;
    if (reason == Reason::none) {
        const auto wish = leaks(out) ? census_for_answer(out) : few_targets ? early_census(now, out) : std::nullopt;
        return wish ? std::vector{*wish} : std::vector<CensusWish>{};
    }
    std::vector<CensusWish> wishes = largest_processes(out.processes);
    for (CensusWish& wish : wishes) wish.urgent = reason != Reason::warmup_ended;
    if (reason == Reason::warmup_ended) {
        std::vector<ProcessId> read;
        for (CensusWish& wish : wishes) {
            wish.objects = add_unlike(read, *find(out, wish.process), out);
            if (wish.objects) rebase_.insert(wish.process);
        }
        return wishes;
    }
    std::vector<ProcessId> read;
    for (const Process* process : growing(out)) add_unlike(read, *stand_in(*process, out), out);
    if (read.empty() && !wishes.empty()) read.push_back(wishes.front().process);
    for (const ProcessId& id : read) {
        const Process& process = *find(out, id);
        auto wish = std::ranges::find(wishes, id, &CensusWish::process);
        if (wish == wishes.end())
            wish = wishes.insert(wishes.end(), CensusWish{.process = id, .anon = process.own_anon(), .urgent = true});
        wish->objects = true;
        wish->always = reason == Reason::leak_found;
        wish->soon = is_spiky(out);
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
