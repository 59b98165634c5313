#include "watch/collector.h"

#include <algorithm>
#include <set>
#include <sys/epoll.h>
#include <utility>

#include "analysis/roles/role_totals.h"
#include "kernel/plan.h"
#include "sources/cgroup/cgroup_directory.h"
#include "sources/proc/host.h"
#include "sources/proc/procfs.h"
#include "sources/proc/shm.h"
#include "watch/helpers/tick_reads.h"
#include "watch/targets/follow_tree.h"
#include "watch/targets/open_targets.h"
#include "watch/targets/process_target.h"
#include "watch/targets/role_assigner.h"

namespace memscope {
namespace {

// Whoever makes cgroups in a storm does not get a walk of the hierarchy for each.
constexpr std::uint64_t kRefreshAtMostEveryNs = 100'000'000;
constexpr Seconds kLinger{60};
constexpr std::uint64_t kOwnEveryNs = 10'000'000'000;  // what memscope has of maps and open files

bool was_killed(int exit_code) { return (exit_code & 0x7F) == 9; }

}  // namespace

Collector::Collector(SysRoot root, const CgroupHierarchy& hierarchy, std::shared_ptr<ReadHelpers> reads,
                     Session session, std::unique_ptr<Targets> targets, const WatchOptions& options)
    : root_(std::move(root)),
      reads_(std::move(reads)),
      session_(std::move(session)),
      cuda_(std::make_unique<CudaWatch>(reads_, options.gpu, options.torch)),
      sharing_(std::make_unique<SharingRecorder>(
          [reads = reads_](const SharingJob& job) { return reads->slow.ask(job, ProcessReader::Patience::none); })),
      targets_(std::move(targets)),
      processes_(read_clock().boot_ns),
      deaths_(root_, hierarchy),
      roles_(options.role_rules, options.keep_ranks),
      warmup_(options.warmup),
      trend_{.held = options.precursors.eta_warmup_held, .horizon = options.precursors.eta_warmup},
      ended_(options.linger.value_or(kLinger)),
      precursors_(options.precursors),
      numa_(root_, [reads = reads_](pid_t pid, std::uint64_t number, const NodeSet& memory_nodes) {
          return read_nodes(reads->quick, pid, number, memory_nodes);
      }) {
    if (session_.find<GrowthStacks>())
        growth_ =
            std::make_unique<GrowthRecorder>(root_, reads_, *session_.find<GrowthStacks>(), cuda_->calls(),
                                             options.python, HookBudget(options.growth_budget, options.growth_window));
    const auto probes = session_.probes();
    told_of_cgroups_ = std::all_of(probes.begin(), probes.end(), [](const Probe& probe) {
        return probe.attached || (probe.name != "tree_cgroup_made" && probe.name != "tree_cgroup_removed");
    });
    refresh_targets();
}

Result<Collector> Collector::start(const SysRoot& root, const WatchOptions& options) {
    return start(root, options, gather_kernel_facts(root));
}

Result<Collector> Collector::start(const SysRoot& root, const WatchOptions& options, const KernelFacts& facts) {
    const Plan plan = make_plan(facts);
    const auto status = read_file(root.proc / "self/status");
    if (auto error = obstacle(facts, parse_privileges(status ? *status : ""), plan)) return *error;
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return hierarchy.error();
    auto targets = open_targets(root, *hierarchy, options);
    if (!targets) return targets.error();
    // Before there are threads, and before the maps of BPF programs are there.
    auto reads = ReadHelpers::start(root, !options.gpu             ? ReadHelpers::Probes::none
                                          : facts.many_user_probes ? ReadHelpers::Probes::at_once
                                                                   : ReadHelpers::Probes::one_by_one);
    if (!reads) return reads.error();
    auto session = Session::start(plan, {.memory_on_v1 = hierarchy->version == 1,
                                         .spawner = (*reads)->spawner,
                                         .follow_descendants = options.pid.has_value(),
                                         .follow_mappings = options.maps,
                                         .follow_growth = options.growth,
                                         .follow_ranges = options.growth && options.maps,
                                         .atomic_exchange = facts.atomic_exchange.value_or(true),
                                         .many_user_probes = facts.many_user_probes,
                                         .allocates_at_probes = facts.allocates_at_probes,
                                         .gpu_live = options.gpu_live,
                                         .tensors = options.tensors});
    if (!session) return session.error();
    Collector collector(root, *hierarchy, std::move(*reads), std::move(*session), std::move(*targets), options);
    if (options.gpu)
        collector.gpus_ = std::make_unique<NvmlWatch>(NvmlWatch::Settings{
            .library = options.nvml, .interval = options.interval, .host_pids = facts.initial_pid_namespace == true});
    if (auto ready = collector.watch_rings(); !ready) return ready.error();
    if (options.pid)
        if (auto followed = collector.follow_descendants(*options.pid); !followed) return followed.error();
    return collector;
}

Status Collector::watch_rings() {
    events_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    std::vector<int> sources = session_.event_fds();
    sources.insert(sources.end(), {reads_->quick.fd(), reads_->slow.fd(), reads_->probes.fd()});
    if (growth_) sources.push_back(growth_->retry_fd());
    for (const int fd : sources)
        if (!wakes_at(fd)) return system_error(errno, "wait for events of the kernel");
    return Done{};
}

bool Collector::wakes_at(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Status Collector::follow_descendants(pid_t pid) {
    return follow_tree(root_, pid,
                       {.add = [this](pid_t member) { return session_.tree().follow(member, ProcessTarget::kTree); },
                        .remove = [this](pid_t member) { session_.tree().unfollow(member); }});
}

std::vector<Error> Collector::take_refusals() {
    auto refusals = cuda_->take_refusals();
    for (Error& trouble : reads_->take_troubles()) refusals.push_back(std::move(trouble));
    return refusals;
}

void Collector::take_events() {
    reads_->pump();
    session_.drain({.tree = [this](const TreeEvent& event) {
        if (std::holds_alternative<CgroupsChanged>(event)) cgroups_changed_ = true;
        if (const auto* exit = std::get_if<Exited>(&event); exit && was_killed(exit->exit_code))
            for (const CgroupId id : targets_->nesting().around(exit->target))
                if (const auto target = targets_->all().find(id); target != targets_->all().end())
                    target->second.memory->note_kill();
        if (const auto* exit = std::get_if<Exited>(&event)) deaths_.exited(*exit, processes_);
        if (const auto* exec = std::get_if<Execed>(&event)) {
            if (growth_) growth_->executed(exec->id);
            cuda_->executed(exec->id);
        }
        if (const auto* mapped = std::get_if<CudaMapped>(&event)) cuda_->mapped(mapped->id, processes_);
        processes_.apply(event);
    }});
    cuda_->look(session_, read_clock().boot_ns);
    watch_cuda_failures();
    // Last: by then all that led to them has been told, and of a cgroup that is gone all deaths are there.
    session_.drain({.death = [this](const LastWords& words) { deaths_.take(words); }});
    if (growth_) {
        growth_->take_events();
        growth_->look_again();
        growth_->mapped().take_events(session_);
    }
    // At once, not at the next tick: what starts in a new cgroup right away is then seen from its start.
    if (cgroups_changed_ && read_clock().boot_ns - refreshed_ns_ >= kRefreshAtMostEveryNs) refresh_targets();
}

// When an allocation fails the driver is asked at once: a process that ends for it frees its memory within moments.
void Collector::watch_cuda_failures() {
    const CudaCalls* calls = session_.find<CudaCalls>();
    if (!calls || !gpus_) return;
    // The feature is started when the first driver is mapped. Tried again at the next event if epoll has no room.
    if (!told_of_cuda_failures_) told_of_cuda_failures_ = wakes_at(calls->event_fds().front());
    session_.drain({.cuda_refused = [this] { gpus_->ask(); }});
}

// At a tick. The event of a new cgroup comes a moment before its directory can be seen, so what was looked up early
// is looked up again; and where events are missing there is no other way.
bool Collector::targets_may_have_changed() {
    const std::uint64_t losses = session_.losses()["ring_full"];
    const bool lost = std::exchange(ring_losses_, losses) != losses;
    // Descriptors may be free again without any cgroup having changed.
    return cgroups_changed_ || lost || !told_of_cgroups_ || targets_without_descriptor_ > 0;
}

void Collector::refresh_targets() {
    refreshed_ns_ = read_clock().boot_ns;
    const auto changes = targets_->refresh();
    const std::size_t refused_before = std::exchange(targets_without_descriptor_, changes.no_descriptor);
    no_descriptors_ += changes.no_descriptor - std::min(changes.no_descriptor, refused_before);
    const Now now = read_clock();
    Ledger at_their_end;
    if (!changes.removed.empty()) {
        settle_deaths(changes.removed_infos, now);
        assign_roles(now);
        if (growth_) {
            runs_.look_at(processes_, targets_->nesting());
            growth_->end_processes(processes_, runs_of());
        }
        at_their_end = ledger_;  // those that have ended are booked at the next tick, when this target is forgotten
        for (const TrackedProcess& process : processes_.ended())
            at_their_end.book(process, process.role, targets_->nesting());
    }
    for (const CgroupId id : changes.removed) {
        TargetSnapshot last{.info = changes.removed_infos.at(id), .counters = at_their_end.of(id)};
        deaths_.hand_over(id, last);
        deaths_.forget(id);
        runs_.name(id, last);
        runs_.forget(id);
        ended_.end(id, std::move(last), now);
        stalls_.book(session_.find<ReclaimTimer>(), id,
                     targets_->nesting());  // its last ones belong to whoever is around it
        session_.unwatch(id);
        processes_.retarget(id, targets_->nesting().enclosing(id));
        ledger_.forget(id);
        stalls_.forget(id);
        precursors_.forget(id);
        sharing_->forget(id);
        cuda_->forget(id);
        targets_->forget(id);
        roles_.forget(id);
        judges_.erase(id);
    }
    for (const CgroupId id : changes.added)
        if (!session_.watch(id)) ++unwatched_targets_;
}

// What is kept of a pair of role and rank that lost its place is given up in all targets that shared the place.
void Collector::assign_roles(const Now& now) {
    const Nesting& nesting = targets_->nesting();
    roles_.assign(processes_, nesting, std::chrono::nanoseconds(now.boot_ns));
    for (const auto& [outermost, role] : roles_.take_vacated())
        for (const auto& [id, target] : targets_->all()) {
            const auto around = nesting.around(id);
            if (around.empty() || around.back() != outermost) continue;
            ledger_.fold_rank(id, role);
            cuda_->fold_rank(id, role);
            if (const auto judge = judges_.find(id); judge != judges_.end()) judge->second.forget(role);
        }
}

void Collector::settle_deaths(std::map<CgroupId, TargetInfo> removed, const Now& now) {
    if (deaths_.anyone_waits()) assign_roles(now);
    DeathRecorder::Surroundings around{.processes = processes_,
                                       .nesting = targets_->nesting(),
                                       .targets = std::move(removed),
                                       .host = host_,
                                       .now = now,
                                       .gpus = [this](std::uint64_t failed_ns, std::uint64_t ended_ns) {
                                           return gpus_ ? gpus_->between(failed_ns, ended_ns) : NvmlPoller::Sample{};
                                       }};
    for (const auto& [id, target] : targets_->all()) around.targets[id] = target.info;
    deaths_.settle(around);
}

void Collector::read_details() {
    if (detailed_revision_ == processes_.revision()) return;
    if (memscope::read_details(reads_->quick, processes_)) detailed_revision_ = processes_.revision();
}

void Collector::describe_target(CgroupId id, Target& target, TargetSnapshot& out, const Snapshot& snapshot,
                                const Now& now) {
    out.info = target.info;
    out.counters = ledger_.of(id);
    sharing_->describe(id, out);
    out.roles = sum_by_role(out.processes);
    if (gpus_) out.gpu = gpus_->of(out.processes);
    cuda_->describe(id, out);
    target.process_count = out.processes.size();
    read_shm(reads_->quick, target, out.processes, now.boot_ns);
    out.shm = target.shm;
    const Seconds boot = std::chrono::nanoseconds(now.boot_ns);
    deaths_.hand_over(id, out);  // first: a death ends what was foreseen for the dead
    runs_.name(id, out);
    TargetJudge& judge = judges_.try_emplace(id, warmup_, trend_).first->second;
    if (growth_ && judge.wants_lines(boot)) out.lines = growth_->lines(out);
    judge.consider(boot, Seconds(now.unix_seconds), out, snapshot.gpus);
    if (judge.job_ended() == boot) runs_.job_ended(id);
    out.run = runs_.current(id);
    out.reclaim = stalls_.of(session_.find<ReclaimTimer>(), id);
    out.precursors = precursors_.consider(id, out, snapshot.host, judge, now);
    ended_.remember(id, out);
}

// Whoever has come since the last tick is followed from now on; whoever has gone is booked.
void Collector::follow_growth() {
    if (!growth_) return;
    if (begun_revision_ != processes_.revision()) {
        bool all = true;
        for (auto& [pid, process] : processes_.living()) {
            if (process.growth_begun) continue;
            // One that came after the scan has no size yet to begin with: the next scan has it.
            process.growth_begun = process.scanned;
            if (process.growth_begun)
                growth_->begin(process);
            else
                all = false;
        }
        if (all) begun_revision_ = processes_.revision();
    }
    growth_->mapped().tick(session_, processes_);
    runs_.look_at(processes_, targets_->nesting());
    growth_->keep_only(runs_.kept());
    growth_->tick(processes_, runs_of());
}

GrowthRecorder::RunsOf Collector::runs_of() {
    return [this](const TrackedProcess& process) { return runs_.around(process, targets_->nesting()); };
}

// In one pass over the living, for each pass costs as much as what is done in it. Returns the living of each target, by
// pid.
std::map<CgroupId, TargetSnapshot> Collector::book_and_describe(const Now& now) {
    const Nesting& nesting = targets_->nesting();
    for (const TrackedProcess& process : processes_.ended()) ledger_.book(process, process.role, nesting);
    processes_.forget_ended();

    std::map<CgroupId, TargetSnapshot> described;
    for (const auto& [id, target] : targets_->all()) described[id].processes.reserve(target.process_count + 16);
    CgroupId innermost = kNoCgroup;
    std::vector<TargetSnapshot*> around;  // `innermost`: neighbours mostly share it
    for (auto& [pid, process] : processes_.living()) {
        if (process.has_news()) {
            ledger_.book(process, process.role, nesting);
            process.settle();
        }
        if (process.task.target != innermost) {
            innermost = process.task.target;
            around.clear();
            for (const CgroupId id : nesting.around(innermost)) around.push_back(&described[id]);
        }
        for (TargetSnapshot* target : around) target->processes.push_back(shown(process, now));
    }
    return described;
}

void Collector::describe(Snapshot& snapshot, const Now& now) {
    auto described = book_and_describe(now);
    for (const auto& [id, target] : targets_->all())  // all, before any is shown
        stalls_.book(session_.find<ReclaimTimer>(), id, targets_->nesting());
    stalls_.sweep(session_.find<ReclaimTimer>(), now.boot_ns);
    samples_without_descriptor_ = 0;
    numa_.begin_tick(now.boot_ns);
    targets_->begin_tick();
    for (auto& [id, target] : targets_->all()) {
        TargetSnapshot& out = described[id];
        auto memory = target.memory->sample(snapshot.host, out.processes);
        if (!memory) {
            if (is_gone(memory.error()))
                cgroups_changed_ = true;  // removed a moment ago; the next tick says so
            else if (is_out_of_descriptors(memory.error()))
                ++samples_without_descriptor_;
            else
                ++unreadable_targets_;
            continue;
        }
        out.memory = std::move(*memory);
        numa_.add(out.processes, snapshot.host, out.memory);
        describe_target(id, target, out, snapshot, now);
        snapshot.targets.push_back(std::move(out));
    }
    no_descriptors_ += samples_without_descriptor_;
    ended_.show(snapshot, now, finished());
    runs_.end_tick(snapshot);
    std::ranges::sort(snapshot.targets, {}, [](const TargetSnapshot& target) { return target.info.name; });
}

SelfSample Collector::describe_self(const Now& now) {
    SelfSample self;
    const bool again = own_ ? now.boot_ns - own_looked_up_ns_ >= kOwnEveryNs : true;
    if (auto usage = read_self(root_, again ? std::nullopt : own_)) self = std::move(*usage);
    if (again) {
        own_looked_up_ns_ = now.boot_ns;
        self.bpf_maps = session_.map_memory();
    } else {
        self.bpf_maps = own_->bpf_maps;
    }
    own_ = self;
    self.dropped = session_.losses();
    self.dropped["unnamed_frame"] = growth_ ? growth_->unnamed_frames() : 0;
    self.dropped["read_blocked"] = reads_->restarts();
    self.dropped["missed_exit"] = processes_.missed_exits();
    self.dropped["kernel_log_overrun"] = deaths_.log_overruns();
    self.dropped["folded_rank"] = roles_.folded_ranks();
    self.dropped["target_map_full"] = unwatched_targets_;
    self.dropped["target_unreadable"] = unreadable_targets_;
    self.dropped["target_no_descriptor"] = no_descriptors_;
    self.unwatched_targets = targets_without_descriptor_ + samples_without_descriptor_;
    self.probes = session_.probes();
    if (growth_ && session_.find<GrowthStacks>()->is_paused())
        for (Probe& probe : self.probes)
            if (probe.name == "growth_resident") probe.attached = false;
    cuda_->describe(self);
    return self;
}

Result<Snapshot> Collector::tick() {
    const Now began = read_clock();
    take_events();
    if (targets_may_have_changed()) {
        cgroups_changed_ = false;
        refresh_targets();
    }
    const std::uint64_t scan_began_ns = read_clock().boot_ns;
    const auto scan = session_.scan();
    if (!scan) return scan.error();
    take_events();  // of what happened until here, so that nothing is told twice and nothing undone
    processes_.reconcile(*scan, scan_began_ns, [this](ProcessId id) { return is_ending(root_, id); });
    read_details();

    Snapshot snapshot;
    const Now now = read_clock();
    snapshot.time = now.unix_seconds;
    auto host = read_host(root_);
    if (!host) return host.error();
    snapshot.host = *host;
    if (gpus_) {
        gpus_->tick(now.boot_ns, processes_);
        snapshot.gpus = gpus_->devices();
    }
    assign_roles(now);
    settle_deaths({}, now);
    host_ = *host;  // after it: a kill has made room again
    deaths_.sweep(processes_);
    follow_growth();
    cuda_->tick(session_, processes_, targets_->nesting(), snapshot.gpus, now.boot_ns);
    sharing_->tick(processes_.living(), scan_began_ns, now.boot_ns);
    describe(snapshot, now);
    snapshot.self = describe_self(now);
    snapshot.self.tick_duration = Seconds(static_cast<double>(read_clock().boot_ns - began.boot_ns) * 1e-9);
    return snapshot;
}

}  // namespace memscope
