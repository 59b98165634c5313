#include "watch/collector.h"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <thread>
#include <utility>

#include "base/units.h"
#include "kernel/plan.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/proc/host.h"
#include "sources/proc/procfs.h"
#include "sources/proc/self_usage.h"
#include "watch/targets/cgroup_targets.h"
#include "watch/targets/process_target.h"

namespace memscope {
namespace {

constexpr Seconds kLinger{60};
constexpr std::size_t kMostEndedWithoutTick = 4096;  // processes, of about 1 KiB each

WatchState::Settings state_settings(const WatchOptions& options) {
    return {.targets = {.warmup = options.warmup,
                        .trend = {.held = options.precursors.eta_warmup_held, .horizon = options.precursors.eta_warmup},
                        .precursors = options.precursors,
                        .keep_ranks = options.keep_ranks,
                        .page = Bytes{page_bytes()},
                        .heap_while_leaking = 3 * options.heap_every},
            .role_rules = options.role_rules,
            .linger = options.linger.value_or(kLinger),
            .watching_since_ns = read_clock().boot_ns};
}

// True if the kernel reports every cgroup that is made or removed. If it does not, ticks search for them.
bool reports_cgroups(const std::vector<Probe>& probes) {
    const auto is_attached = [&](std::string_view hook) {
        return std::ranges::any_of(probes, [&](const Probe& probe) { return probe.name == hook && probe.attached; });
    };
    return is_attached("tree_cgroup_made") && is_attached("tree_cgroup_removed");
}

// Opens the source of the targets: the cgroups that the user named, the tree of a process, or a cgroup that memscope
// has made.
Result<std::unique_ptr<TargetSource>> open_targets(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                   ReadHelpers& helpers, const WatchOptions& options) {
    const auto as_source = [](auto opened) -> Result<std::unique_ptr<TargetSource>> {
        if (!opened) return opened.error();
        return std::unique_ptr<TargetSource>(std::move(*opened));
    };
    const auto read_argv = [&helpers](const ProcessId& id) -> std::vector<std::string> {
        auto details = helpers.quick.ask(DetailsJob{.id = id});  // waits for 1 s at most
        return details && *details && **details ? std::move((***details).argv) : std::vector<std::string>{};
    };
    if (options.pid) return as_source(ProcessTarget::open(root, hierarchy, *options.pid, read_argv));
    if (options.own_cgroup) return as_source(CgroupTargets::open_own(hierarchy, *options.own_cgroup, options.shown));
    return as_source(CgroupTargets::open(hierarchy, options.cgroups, options.wait));
}

}  // namespace

EventPoll::EventPoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

Status EventPoll::add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return system_error(errno, "wait for events of the kernel");
    added_.insert(fd);
    return Done{};
}

SelfSample SelfReader::read(const SysRoot& root, const std::function<Bytes()>& map_memory, std::uint64_t now_ns) {
    constexpr std::uint64_t kAllEveryNs = 10'000'000'000;
    const bool all = !last_ || now_ns - all_read_ns_ >= kAllEveryNs;
    SelfSample self;
    if (auto usage = read_self(root, all ? std::nullopt : last_)) self = std::move(*usage);
    if (all) all_read_ns_ = now_ns;
    self.bpf_maps = all ? map_memory() : last_->bpf_maps;
    last_ = self;
    return self;
}

Collector::Collector(SysRoot root, const CgroupHierarchy& hierarchy, std::shared_ptr<ReadHelpers> reads,
                     Session session, std::unique_ptr<TargetSource> source, const WatchOptions& options)
    : root_(std::move(root)),
      reads_(std::move(reads)),
      session_(std::move(session)),
      gpu_probes_(std::make_unique<GpuProbeWatch>(reads_, options.gpu, options.torch)),
      sharing_([helpers = reads_](const SharingJob& job) { return helpers->slow.ask(job); }),
      machine_(root_, hierarchy),
      source_(std::move(source)),
      refresh_(reports_cgroups(session_.probes())),
      state_(state_settings(options)),
      reader_(root_, reads_) {
    const HookBudget budget(options.growth_budget, options.growth_window);  // for each of the two recorders
    host_tensors_ =
        std::make_unique<HostTensorRecorder>(root_, reads_, session_.find<GrowthStacks>() != nullptr, budget);
    if (session_.find<GrowthStacks>())
        growth_ = std::make_unique<GrowthRecorder>(root_, reads_, *session_.find<GrowthStacks>(), gpu_probes_->calls(),
                                                   *host_tensors_, options.python, budget);
    // Captures `reads_` and not `this`, because a collector is moved after its construction.
    heap_ = std::make_unique<HeapRecorder>([helpers = reads_](const HeapJob& job) { return helpers->heap.ask(job); },
                                           [growth = growth_.get()](HeapCensus& census) {
                                               if (growth) growth->name_mappings(census);
                                           },
                                           options.heap_every, std::thread::hardware_concurrency());
    reads_->keep_answers(std::max(ProcessReader::kKept, 3 * options.interval));
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
    // Helpers are forked before there are threads and BPF maps, so that they inherit neither.
    auto reads = ReadHelpers::start(root, !options.gpu && !options.growth ? ReadHelpers::Probes::none
                                          : facts.many_user_probes        ? ReadHelpers::Probes::at_once
                                                                          : ReadHelpers::Probes::one_by_one);
    if (!reads) return reads.error();
    auto source = open_targets(root, *hierarchy, **reads, options);
    if (!source) return source.error();
    auto session = Session::start(plan, {.memory_on_v1 = hierarchy->version == 1,
                                         .spawner = (*reads)->spawner,
                                         .follow_descendants = options.pid.has_value(),
                                         .follow_mappings = options.maps,
                                         .follow_growth = options.growth,
                                         .follow_ranges = options.growth && options.maps,
                                         .atomic_exchange = facts.atomic_exchange.value_or(false),
                                         .many_user_probes = facts.many_user_probes,
                                         .allocates_at_probes = facts.allocates_at_probes,
                                         .cuda_live = options.cuda_live,
                                         .gpu_tensors = options.gpu_tensors,
                                         .host_storages = options.host_storages});
    if (!session) return session.error();
    Collector collector(root, *hierarchy, std::move(*reads), std::move(*session), std::move(*source), options);
    if (options.gpu)
        collector.gpus_ = std::make_unique<NvmlWatch>(NvmlWatch::Settings{
            .library = options.nvml, .interval = options.interval, .host_pids = facts.initial_pid_namespace == true});
    if (auto ready = collector.watch_rings(); !ready) return ready.error();
    if (options.pid)
        if (auto followed = collector.follow_descendants(*options.pid); !followed) return followed.error();
    return collector;
}

Status Collector::watch_rings() {
    std::vector<int> sources = session_.event_fds();
    sources.insert(sources.end(),
                   {reads_->quick.fd(), reads_->slow.fd(), reads_->heap.fd(), reads_->probes.fd(), heap_->fd()});
    if (growth_) sources.push_back(growth_->find_python_fd());
    for (const int fd : sources)
        if (auto added = events_.add(fd); !added) return added;
    return Done{};
}

Status Collector::follow_descendants(pid_t pid) {
    return follow_tree(root_, pid,
                       {.add = [this](pid_t member) { return session_.tree().follow(member, ProcessTarget::kTree); },
                        .remove = [this](pid_t member) { session_.tree().unfollow(member); }});
}

std::vector<Error> Collector::take_refusals() {
    auto refusals = gpu_probes_->take_refusals();
    for (Error& refusal : host_tensors_->take_refusals()) refusals.push_back(std::move(refusal));
    for (Error& trouble : reads_->take_troubles()) refusals.push_back(std::move(trouble));
    for (Error& trouble : heap_->take_troubles()) refusals.push_back(std::move(trouble));
    for (auto& [id, target] : state_.targets().all())
        if (auto trouble = target.shm.take_trouble()) refusals.push_back(*std::move(trouble));
    return refusals;
}

void Collector::apply(const TreeEvent& event) {
    if (std::holds_alternative<CgroupsChanged>(event)) refresh_.note_change();
    if (const auto* exec = std::get_if<Execed>(&event)) {
        if (growth_) growth_->executed(exec->id);
        gpu_probes_->executed(exec->id);
        host_tensors_->executed(exec->id);
    }
    if (const auto* mapped = std::get_if<LibraryMapped>(&event)) {
        gpu_probes_->mapped(*mapped, state_.processes());
        host_tensors_->mapped(*mapped);
    }
    state_.apply(event);
    if (const auto* exec = std::get_if<Execed>(&event)) details_.executed(reads_->quick, exec->id, state_.processes());
}

void Collector::take_events() {
    reads_->pump();
    details_.take_answers(reads_->quick, state_.processes());
    session_.drain({.tree = [this](const TreeEvent& event) { apply(event); }});
    const Now now = read_clock();
    gpu_probes_->check_libraries(session_, now.boot_ns);
    host_tensors_->check_libraries(session_, now);
    watch_cuda_failures();
    // Deaths are taken after the events that led to them have been applied, and before refresh_targets() ends the
    // targets of removed cgroups.
    session_.drain({.death = [this](const DeathEvidence& evidence) { state_.take(evidence); }});
    if (growth_) {
        growth_->take_events();
        growth_->find_python_again();
        growth_->mapped().take_events(session_);
    }
    heap_->pump(boot_time(), state_.processes().living());
    read_lengths();
}

void Collector::on_events() {
    take_events();
    if (refresh_.is_due_between_ticks(read_clock().boot_ns)) refresh_targets();
}

// Queries the GPU driver as soon as an allocation has failed. A query at the next tick may be too late, because a
// process that exits after the failure frees its memory at once.
void Collector::watch_cuda_failures() {
    const CudaCalls* calls = session_.find<CudaCalls>();
    if (!calls || !gpus_) return;
    // The feature is started when the first driver is mapped. If epoll has no room, the next event tries again.
    if (const int fd = calls->event_fds().front(); !events_.has(fd)) (void)events_.add(fd);
    session_.drain({.cuda_refused = [this] { gpus_->ask(); }});
}

DeathLookups Collector::lookups() {
    DeathLookups lookups = machine_.lookups();
    if (gpus_)
        lookups.gpus = [this](std::uint64_t failed_ns, std::uint64_t ended_ns) {
            return gpus_->between(failed_ns, ended_ns);
        };
    return lookups;
}

void Collector::refresh_targets() {
    const Now now = read_clock();
    refresh_.refreshed(now.boot_ns);
    auto changes = source_->refresh();
    reader_.missed().refreshed(changes.no_descriptor);
    std::vector<CgroupId> added;
    added.reserve(changes.added.size());
    for (NewTarget& target : changes.added) added.push_back(state_.targets().add(std::move(target)).id);
    if (!changes.removed.empty()) end_targets(changes.removed, read_clock());
    for (const CgroupId id : added)
        if (!session_.watch(id)) reader_.missed().not_watched();
}

// Counts the ended processes of each removed target now, because the next tick counts them only for the enclosing
// targets. Reads the last stalls before unwatch(), which removes the counter from the BPF map. The stalls also count
// for the enclosing targets.
void Collector::end_targets(const std::vector<CgroupId>& removed, const Now& now) {
    state_.prepare_end(now, lookups());
    state_.follow_runs();
    if (growth_) growth_->end_processes(state_.processes());
    for (const auto& [id, counters] : state_.final_counters(removed)) {
        if (const ReclaimTimer* timer = session_.find<ReclaimTimer>())
            if (const auto counted = timer->read(id)) state_.count_stalls(*state_.targets().find(id), *counted);
        session_.unwatch(id);
        state_.end_target(id, counters, now);
    }
}

// Returns the time at which the scan began, on the boot clock.
Result<std::uint64_t> Collector::scan_processes() {
    const std::uint64_t began_ns = read_clock().boot_ns;
    const auto scan = session_.scan();
    if (!scan) return scan.error();
    take_events();  // up to the end of the scan, so that reconcile() neither repeats nor reverts an event
    state_.reconcile({.began_ns = began_ns, .tasks = *scan}, [this](ProcessId id) { return is_ending(root_, id); });
    details_.read(reads_->quick, state_.processes());
    return began_ns;
}

Result<MachineReadings> Collector::read_machine() {
    MachineReadings machine{.now = read_clock(), .counts_stalls = session_.find<ReclaimTimer>() != nullptr};
    auto host = read_host(root_);
    if (!host) return host.error();
    machine.host = *host;
    if (gpus_) {
        gpus_->tick(machine.now.boot_ns, state_.processes());
        machine.gpus = gpus_->devices();
    }
    return machine;
}

// Starts to follow the growth of new processes, and stores the growth of ended processes.
void Collector::follow_growth() {
    if (!growth_) return;
    growth_->begin_new(state_.processes());
    growth_->take_events();  // samples are counted when the range events before them are known
    growth_->mapped().tick(session_, state_.processes());
    // Before GrowthRecorder::tick(), which forgets the address spaces of ended processes.
    host_tensors_->tick(session_, state_.processes(), read_clock());
    growth_->tick(state_.processes());
}

// Passes the censuses that the helper has taken to WatchState, and requests the censuses that the last tick wanted.
void Collector::take_censuses(const Now& now) {
    const Seconds time = std::chrono::nanoseconds(now.boot_ns);
    heap_->want(time, state_.take_census_wishes());
    heap_->pump(time, state_.processes().living());
    for (HeapCensus& census : heap_->take_taken()) state_.take(std::move(census));
    read_lengths();
}

// Reads the lengths of containers of Python between the censuses. Not during a census, which keeps the helper busy for
// seconds: a job has megabytes, and each question repeats it.
void Collector::read_lengths() {
    if (heap_->is_taking() && !state_.containers().is_waiting()) return;
    state_.containers().pump(boot_time(), state_.processes().living(),
                             [this](const LengthsJob& job) { return reads_->heap.ask(job); });
}

void Collector::read_targets(const MachineReadings& machine, ReadingsByTarget& readings) {
    source_->begin_tick();
    const bool all_exist = reader_.read({.helpers = *reads_,
                                         .stalls = session_.find<ReclaimTimer>(),
                                         .gpus = gpus_.get(),
                                         .gpu_probes = *gpu_probes_,
                                         .growth = growth_.get()},
                                        state_.targets(), machine, readings);
    if (!all_exist) refresh_.note_change();  // the next tick ends the target
    // That tick comes soon, because it shows the deaths of the target. A file of a cgroup that exists can be missing,
    // too, so later ticks ask for no tick.
    lost_target_ = !all_exist && !missed_target_;
    missed_target_ = !all_exist;
}

SelfSample Collector::describe_self(const Now& now) {
    SelfSample self = self_.read(root_, [this] { return session_.map_memory(); }, now.boot_ns);
    self.dropped = session_.losses();
    self.dropped["unnamed_frame"] = growth_ ? growth_->unnamed() : 0;
    self.dropped["read_blocked"] = reads_->restarts();
    self.dropped["missed_exit"] = state_.processes().missed_exits();
    self.dropped["kernel_log_overrun"] = machine_.log_overruns();
    self.dropped["folded_rank"] = state_.folded_ranks();
    reader_.missed().describe(self);
    self.probes = session_.probes();
    gpu_probes_->describe(self);
    host_tensors_->describe(self);
    return self;
}

Result<Snapshot> Collector::tick() {
    auto snapshot = take_tick(read_clock());
    if (!snapshot) miss_tick();
    return snapshot;
}

// A tick counts ended processes and removes them from the process table. While ticks fail for lack of a file
// descriptor, a job that starts many processes would fill the memory of the watcher. So this function counts and
// removes ended processes if there are many. A small number of ended processes waits for the next tick, because that
// tick can read files and thus explains deaths better.
void Collector::miss_tick() {
    if (state_.processes().ended().size() < kMostEndedWithoutTick) return;
    const Now now = read_clock();
    state_.prepare_end(now, lookups());
    state_.follow_runs();
    follow_growth();
    gpu_probes_->tick(session_, state_.processes(), state_.targets(),
                      gpus_ ? gpus_->devices() : std::vector<GpuDevice>{}, now.boot_ns);
    (void)state_.count_processes(now);
}

// The stages of a tick. WatchState lists the stages between the readings and the Snapshot.
Result<Snapshot> Collector::take_tick(const Now& began) {
    take_events();
    if (refresh_.is_due_at_tick(session_.losses().at("ring_full"), reader_.missed().lacks_descriptors()))
        refresh_targets();
    const auto scan_began_ns = scan_processes();
    if (!scan_began_ns) return scan_began_ns.error();
    auto machine = read_machine();
    if (!machine) return machine.error();
    const Now now = machine->now;
    state_.settle(now, machine->host, lookups());
    state_.follow_runs();
    follow_growth();
    gpu_probes_->tick(session_, state_.processes(), state_.targets(), machine->gpus, now.boot_ns);
    machine->sharing = sharing_.tick(state_.processes().living(), *scan_began_ns, now.boot_ns);
    take_censuses(now);
    ReadingsByTarget readings = state_.count_processes(now);
    read_targets(*machine, readings);
    Snapshot snapshot = state_.judge(*std::move(machine), std::move(readings), finished());
    if (growth_) growth_->remember(snapshot);
    reads_->quick.wait_no_more();  // only the first tick may wait
    snapshot.self = describe_self(now);
    snapshot.self.tick_duration = Seconds(static_cast<double>(read_clock().boot_ns - began.boot_ns) * 1e-9);
    return snapshot;
}

}  // namespace memscope
