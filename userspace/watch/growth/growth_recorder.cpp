#include "watch/growth/growth_recorder.h"

#include <algorithm>
#include <utility>

#include "analysis/growth/growth_sentence.h"
#include "analysis/growth/owner.h"
#include "analysis/targets/target_judge.h"
#include "sources/proc/procfs.h"
#include "watch/clock.h"
#include "watch/growth/site_names.h"

namespace memscope {
namespace {

// Three quarters of the entries of the BPF map, and of the stacks that one process may send.
constexpr CallSites::Limits kLimits{.stacks = MS_SITES * 3 / 4, .of_space = MS_STACKS_PER_PROCESS * 3 / 4};

GrowthHistory::Moment moment_of(const TargetSnapshot& target) {
    const Now clock = read_clock();
    GrowthHistory::Moment moment{.now = std::chrono::nanoseconds(clock.boot_ns),
                                 .wall = clock.unix_seconds,
                                 .run = target.run,
                                 .held = judged_memory(target)};
    const ScopeVerdict* verdict = target.verdict();
    if (verdict && verdict->judgement.warmup_ended)
        moment.warmup_ended = *verdict->judgement.warmup_ended - Seconds{moment.wall} + moment.now;
    return moment;
}

}  // namespace

GrowthRecorder::GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks,
                               const CudaRecorder& cuda, HostTensorRecorder& host_tensors, bool python,
                               HookBudget budget)
    : root_(std::move(root)),
      reads_(std::move(reads)),
      stacks_(stacks),
      cuda_(cuda),
      host_tensors_(host_tensors),
      resident_(reads_),
      mapped_(reads_, {.event = [this](const RangeEvent& event) { resident_.apply(event); },
                       .drained = [this] { resident_.ranges_drained(); }}),
      budget_(budget),
      ledger_(kLimits),
      intake_(reads_, stacks_, resident_, ledger_, python),
      planes_(
          {.stacks = stacks_, .resident = resident_, .mapped = mapped_, .cuda = cuda_, .host_tensors = host_tensors_},
          ledger_) {}

void GrowthRecorder::take_events() {
    intake_.take_deferred();
    const std::uint64_t began_ns = read_clock().boot_ns;
    stacks_.drain({.code = [this](const ms_code& code) { intake_.take(code); },
                   .stack = [this](const RawStack& stack) { intake_.take(stack); },
                   .grew = [this](const ProcessId& process) { intake_.read(process); },
                   .sample = [this](const GrowthSample& sample) { resident_.add(sample); }});
    resident_.samples_drained(began_ns);
}

void GrowthRecorder::executed(const ProcessId& process) {
    executed_.insert(process.pid);
    intake_.executed(process.pid);
}

void GrowthRecorder::begin_new(ProcessTable& processes) {
    if (begun_revision_ == processes.revision()) return;
    bool all = true;
    for (auto& [pid, process] : processes.living()) {
        if (process.growth_begun) continue;
        // The size of a process that started after the scan is not known yet. The process is followed after the next
        // scan.
        process.growth_begun = process.scanned;
        if (process.growth_begun)
            begin(process);
        else
            all = false;
    }
    if (all) begun_revision_ = processes.revision();
}

void GrowthRecorder::begin(const TrackedProcess& process) {
    mapped_.begin(process);
    // A child of vfork() uses the address space of its parent until it executes a program.
    if (!process.task.memory || stacks_.follows(process.task.id)) return;
    // A failure is not handled here: the feature counts entries that find no room in its map.
    (void)stacks_.begin(process.task.id, SpaceId{read_clock().boot_ns}, held_by(*process.task.memory));
    intake_.find_python(process.task.id);
}

void GrowthRecorder::tick(ProcessTable& processes) {
    take_events();
    intake_.find_python_again();
    resident_.tick(boot_time(), processes.living());
    name_stacks_of(processes.ended());
    for (const pid_t pid : executed_) intake_.name_before_exec(pid);
    {
        const std::lock_guard lock(ledger_.mutex);
        read_spaces(processes);
        end_all(processes.ended());
        for (const pid_t pid : std::exchange(executed_, {})) {
            const auto now = stacks_.read_space(pid);
            if (!processes.living().contains(pid) || !now) continue;
            ledger_.spaces[pid] = *now;
            end_spaces(pid, now->space);
        }
        make_room();
    }
    keep_to_budget();
}

void GrowthRecorder::end_processes(const ProcessTable& processes) {
    take_events();
    name_stacks_of(processes.ended());
    const std::lock_guard lock(ledger_.mutex);
    end_all(processes.ended());
}

// Called before the address spaces of these processes are forgotten.
void GrowthRecorder::name_stacks_of(const std::vector<TrackedProcess>& ended) {
    for (const TrackedProcess& process : ended) intake_.name_ended(process.task.id.pid);
}

void GrowthRecorder::end_all(const std::vector<TrackedProcess>& ended) {
    ledger_.histories.name_peaks(ledger_.sites);  // before the stacks of these processes are forgotten
    constexpr Seconds kKept{30};                  // a death report asks for it within one or two ticks
    const Seconds now = boot_time();
    ledger_.ended.forget_before(now - kKept);
    for (const TrackedProcess& process : ended) {
        const pid_t pid = process.task.id.pid;
        planes_.keep_last(process, now);
        end_spaces(pid, std::nullopt);
        resident_.end(process.task.id);
        // Another process may have the pid by now.
        const auto left = stacks_.read_space(pid);
        if (!left || left->process == process.task.id) stacks_.forget(pid);
        ledger_.spaces.erase(pid);
        intake_.forget(pid);
        executed_.erase(pid);
    }
    mapped_.forget_ended();
}

// Forgets all address spaces of the process except the one that it still uses.
void GrowthRecorder::end_spaces(pid_t pid, std::optional<SpaceId> still) {
    for (const SpaceId space : ledger_.sites.spaces_of(pid)) {
        if (space == still) continue;
        for (const StackId stack : ledger_.sites.end(space)) stacks_.forget_stack(stack);
        intake_.forget(space);
    }
}

// Reads the address spaces of new processes. The others are known already.
void GrowthRecorder::read_spaces(const ProcessTable& processes) {
    for (const auto& [pid, process] : processes.living()) {
        const auto known = ledger_.spaces.find(pid);
        if (known != ledger_.spaces.end() && known->second.process == process.task.id) continue;
        if (const auto space = stacks_.read_space(pid)) ledger_.spaces[pid] = *space;
    }
}

void GrowthRecorder::make_room() {
    if (!ledger_.sites.is_full() && !ledger_.sites.has_crowded_space()) return;
    std::set<StackId> held = mapped_.stacks();
    held.merge(cuda_.stacks());
    held.merge(host_tensors_.stacks());
    const auto sampled = resident_.by_stack();
    const auto folded = ledger_.sites.fold([&](StackId stack) -> std::optional<std::int64_t> {
        if (held.contains(stack)) return std::nullopt;
        const auto size = sampled.find(stack);
        return size == sampled.end() ? 0 : size->second;
    });
    for (const auto& [stack, line] : folded.stacks) stacks_.forget_stack(stack);
    resident_.move_stacks(folded.stacks, read_clock().boot_ns);
    for (const auto& [pid, stacks] : folded.lost) stacks_.allow_stacks(pid, stacks);
}

// CPU time of the processes that grow and of their ended children. The cost of the hook is part of it.
Seconds GrowthRecorder::cpu_of_growing() {
    std::set<pid_t> growing;
    {
        const std::lock_guard lock(ledger_.mutex);
        growing = ledger_.sites.growing();
    }
    return cpu_time_of(root_, growing);
}

void GrowthRecorder::keep_to_budget() {
    const Seconds hook(static_cast<double>(stacks_.cost().ns) * 1e-9);
    switch (budget_.consider(boot_time(), hook, [this] { return cpu_of_growing(); })) {
        case HookBudget::Advice::detach: {
            stacks_.pause();
            const std::lock_guard lock(ledger_.mutex);
            ledger_.was_paused = true;
            break;
        }
        case HookBudget::Advice::attach:
            (void)stacks_.resume();  // on failure the hook stays off, and SelfSample::probes shows that
            break;
        case HookBudget::Advice::stay:
            break;
    }
}

void GrowthRecorder::remember(const Snapshot& snapshot) {
    std::set<std::string> names(snapshot.unread.begin(), snapshot.unread.end());
    bool added = false;
    for (const TargetSnapshot& target : snapshot.targets) {
        names.insert(target.info.name);
        if (!target.up || target.processes.empty()) continue;
        resident_.bound(target.processes);
        const GrowthHistory::Moment moment = moment_of(target);
        {
            const std::lock_guard lock(ledger_.mutex);
            if (!ledger_.histories.of(target.info.name).is_due(moment)) continue;
        }
        const SitePlanes planes = planes_.of(target);
        const std::lock_guard lock(ledger_.mutex);
        ledger_.histories.of(target.info.name).add(moment, planes);
        added = true;
    }
    const std::lock_guard lock(ledger_.mutex);
    ledger_.histories.keep_only(names);
    if (added) ledger_.histories.bound_peaks();
}

// Writes the sentence that names the line which keeps the growth, if it is known. The lists show all memory that is
// held now. The sentence is about memory that is kept.
void GrowthRecorder::explain(Growth& growth, GrowthPlane kept_mapped, GrowthPlane kept_tensors,
                             const TargetSnapshot& target) {
    std::swap(growth.mapped, kept_mapped);
    std::swap(growth.tensors_host, kept_tensors);
    Ownership ownership = owner_of(growth, target, read_clock().unix_seconds);
    std::swap(growth.mapped, kept_mapped);
    std::swap(growth.tensors_host, kept_tensors);
    std::optional<LineTrend> trend;
    if (ownership.frame) {
        const std::lock_guard lock(ledger_.mutex);
        if (const GrowthHistory* history = ledger_.histories.find(target.info.name))
            trend = history->trend(ownership.owner->plane, line_id(*ownership.frame), ownership.owner->role);
    }
    growth.sentence = growth_sentence(ownership, growth.span, trend);
    growth.owner = std::move(ownership.owner);
}

Growth GrowthRecorder::report(const TargetSnapshot& target, const GrowthRequest& request, NativeReads::Wait wait) {
    if (wait == NativeReads::Wait::yes) resident_.check(target.processes);
    return name(collect(target, request), wait).growth;
}

UnnamedGrowth GrowthRecorder::collect(const TargetSnapshot& target, const GrowthRequest& request) {
    UnnamedGrowth collected{.target = target, .growth = {}, .held = planes_.of(target)};
    collected.growth = {.resident_method = stacks_.method(),
                        .pages_checked = planes_.pages_checked(target),
                        .host_tensors = collected.held.host_tensors};
    const std::lock_guard lock(ledger_.mutex);
    if (const GrowthHistory* history = ledger_.histories.find(target.info.name))
        collected.growth.span = history->apply(request, moment_of(target), collected.held);
    return collected;
}

// Without the lock, because symbols can take long to load.
NamedGrowth GrowthRecorder::name(UnnamedGrowth collected, NativeReads::Wait wait) {
    auto& [target, growth, held] = collected;
    SiteNames names(intake_.symbols(), wait);
    const auto kept = [&](PlaneKind kind) {
        // For the peak all memory counts that was held then, even if it was freed soon afterwards.
        return names.plane(growth.span.peak ? held.plane(kind).sites : kept_part(held.plane(kind).sites));
    };
    GrowthPlane kept_mapped = kept(PlaneKind::mapped);
    GrowthPlane kept_tensors = kept(PlaneKind::tensors_host);
    for (std::size_t i = 0; i < kPlanes; ++i) {
        GrowthPlane& plane = growth.plane(static_cast<PlaneKind>(i));
        plane = names.plane(std::move(held.planes[i].sites));
        plane.unattributed = std::move(held.planes[i].unattributed);
    }
    growth.file_mapped_bytes = held.file_mapped_bytes;
    growth.reserved_bytes = held.reserved_bytes;
    explain(growth, std::move(kept_mapped), std::move(kept_tensors), target);
    return {.growth = std::move(growth), .complete = names.complete()};
}

}  // namespace memscope
