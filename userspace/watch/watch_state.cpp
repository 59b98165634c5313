#include "watch/watch_state.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "analysis/roles/role_totals.h"

namespace memscope {
namespace {

constexpr std::size_t kFewTargets = 8;

bool was_killed(int exit_code) { return (exit_code & 0x7F) == SIGKILL; }

}  // namespace

WatchState::WatchState(Settings settings)
    : processes_(settings.watching_since_ns),
      targets_(settings.targets),
      roles_(std::move(settings.role_rules)),
      ended_(settings.linger) {}

void WatchState::apply(const TreeEvent& event) {
    if (const auto* exit = std::get_if<Exited>(&event)) {
        if (was_killed(exit->exit_code))
            for (TargetState* target : targets_.around(exit->target))
                if (target->memory) target->memory->note_kill();
        deaths_.exited(*exit, processes_);
    }
    processes_.apply(event);
}

void WatchState::reconcile(const TaskList& scan, const ProcessTable::IsEnding& is_ending) {
    processes_.reconcile(scan.tasks, scan.began_ns, is_ending);
}

void WatchState::assign_roles(const Now& now) {
    roles_.assign(processes_, targets_, std::chrono::nanoseconds(now.boot_ns));
}

void WatchState::settle_deaths(const Now& now, const DeathLookups& lookups) {
    deaths_.settle({.processes = processes_, .targets = targets_, .host = host_, .now = now, .lookups = lookups});
}

void WatchState::settle(const Now& now, const HostMemory& host, const DeathLookups& lookups) {
    assign_roles(now);
    settle_deaths(now, lookups);
    host_ = host;
    deaths_.sweep(processes_);
}

ReadingsByTarget WatchState::count_processes(const Now& now) {
    const LedgersAround ledgers = [this](CgroupId innermost) { return targets_.ledgers_around(innermost); };
    for (const TrackedProcess& process : processes_.ended()) count_process(process, process.role, ledgers);
    processes_.forget_ended();

    ReadingsByTarget readings;
    for (const auto& [id, target] : targets_.all()) readings[id].processes.reserve(target.process_count + 16);
    CgroupId innermost = kNoCgroup;
    std::vector<TargetReadings*> around;  // the targets around `innermost`; neighbours are mostly in the same target
    // One pass for counting and listing, because walking over all processes costs as much as the work on them.
    for (auto& [pid, process] : processes_.living()) {
        if (process.has_news()) {
            count_process(process, process.role, ledgers);
            process.settle();
        }
        if (process.task.target != innermost) {
            innermost = process.task.target;
            around.clear();
            for (const TargetState* target : targets_.around(innermost)) around.push_back(&readings[target->id]);
        }
        for (TargetReadings* target : around) target->processes.push_back(shown(process, now));
    }
    for (auto& [id, target] : targets_.all()) target.process_count = readings[id].processes.size();
    return readings;
}

void WatchState::count_stalls(TargetState& target, const ReclaimStalls& counted) {
    const ReclaimStalls rise = target.stalls.rise(counted);
    for (TargetState* around : targets_.around(target.id)) around->stalls.add(rise);
}

void WatchState::take(HeapCensus census) {
    const auto process = processes_.living().find(census.process.pid);
    if (process == processes_.living().end() || process->second.task.id != census.process) return;
    containers_.add(census);
    census.places.reset();  // megabytes, which only ContainerWatch needs
    for (TargetState* target : targets_.around(process->second.task.target)) target->heap.add(census, &containers_);
    if (census.objects) bound_objects();
}

void WatchState::bound_objects() {
    constexpr Bytes kMost{std::uint64_t{64} << 20};
    Bytes sum;
    for (const auto& [id, target] : targets_.all()) sum += target.heap.objects_size();
    while (sum > kMost) {
        TargetHeap* oldest = nullptr;
        for (auto& [id, target] : targets_.all())
            if (const auto time = target.heap.oldest_objects(); time && (!oldest || *time < *oldest->oldest_objects()))
                oldest = &target.heap;
        if (!oldest) return;
        const Bytes before = oldest->objects_size();
        oldest->drop_oldest_objects();
        sum = sum - (before - oldest->objects_size());
    }
}

TargetSnapshot WatchState::judge_target(TargetState& target, TargetReadings readings, const MachineReadings& machine) {
    TargetSnapshot out{.info = target.info,
                       .memory = *std::move(readings.memory),
                       .processes = std::move(readings.processes),
                       .counters = target.counters.all(),
                       .shm = readings.shm,
                       .gpu = std::move(readings.gpu),
                       .lines = std::move(readings.lines)};
    target.sharing.describe(machine.sharing, out);
    target.heap.describe(out, &containers_);  // before judging, because censuses can explain growth
    out.roles = sum_by_role(out.processes);
    target.cuda_failures.describe(out);
    // Also before judging, because a forecast for a process that has died is not valid any more.
    target.deaths.hand_over(out);
    target.runs.name(out);
    const Seconds boot = std::chrono::nanoseconds(machine.now.boot_ns);
    target.judge.consider(boot, Seconds(machine.now.unix_seconds), out, machine.gpus);
    if (target.judge.job_ended() == boot) target.runs.job_ended();
    out.run = target.runs.current();
    if (machine.counts_stalls) out.reclaim = target.stalls.sum();
    out.precursors = target.find_precursors(out, machine.host, machine.now);
    for (const CensusWish& wish : target.heap.wishes(boot, out, targets_.all().size() <= kFewTargets))
        census_wishes_.push_back(wish);
    target.remember(out);
    return out;
}

Snapshot WatchState::judge(MachineReadings machine, ReadingsByTarget readings, bool finished) {
    // Counts the stalls of all targets first, because stalls of an inner target also count for the targets around it.
    for (const auto& [id, read] : readings)
        if (TargetState* target = targets_.find(id); target && read.stalls) count_stalls(*target, *read.stalls);
    Snapshot snapshot{.time = machine.now.unix_seconds, .host = machine.host};
    for (auto& [id, read] : readings) {
        TargetState* target = targets_.find(id);
        if (target && read.memory) snapshot.targets.push_back(judge_target(*target, std::move(read), machine));
        // No later tick can show its deaths.
        else if (target && finished)
            end_target(id, RoleLedger(target->counters), machine.now);
        else if (target)
            snapshot.unread.push_back(target->info.name);
    }
    snapshot.gpus = std::move(machine.gpus);
    ended_.show(snapshot, machine.now, finished);
    runs_.end_tick(targets_);
    std::ranges::sort(snapshot.targets, {}, [](const TargetSnapshot& target) { return target.info.name; });
    std::ranges::sort(snapshot.unread);
    return snapshot;
}

void WatchState::prepare_end(const Now& now, const DeathLookups& lookups) {
    assign_roles(now);  // a death has the role of its process
    settle_deaths(now, lookups);
}

std::map<CgroupId, RoleLedger> WatchState::final_counters(const std::vector<CgroupId>& ending) {
    std::map<CgroupId, RoleLedger> final;
    for (const CgroupId id : ending)
        if (const TargetState* target = targets_.find(id)) final.emplace(id, target->counters);
    const LedgersAround ledgers = [&](CgroupId innermost) {
        std::vector<RoleLedger*> around;
        for (const TargetState* target : targets_.around(innermost))
            if (const auto found = final.find(target->id); found != final.end()) around.push_back(&found->second);
        return around;
    };
    for (const TrackedProcess& process : processes_.ended()) count_process(process, process.role, ledgers);
    return final;
}

void WatchState::end_target(CgroupId id, const RoleLedger& final, const Now& now) {
    TargetState* target = targets_.find(id);
    if (!target) return;
    TargetSnapshot last{.info = target->info, .counters = final.all()};
    target->deaths.hand_over(last);
    target->runs.name(last);
    ended_.end(std::move(target->last_shown), std::move(last), now);
    processes_.retarget(id, targets_.nesting().enclosing(id));
    targets_.drop(id);
}

}  // namespace memscope
