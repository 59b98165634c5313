#include "watch/growth/growth_recorder.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/growth/attribution.h"
#include "analysis/growth/growth_sentence.h"
#include "analysis/growth/owner.h"
#include "analysis/targets/target_judge.h"
#include "watch/clock.h"
#include "watch/growth/cpu_time.h"
#include "watch/growth/line_growth.h"

namespace memscope {
namespace {

// Sites with the bytes that they keep. What a step of the job has allocated and will free again is left out.
std::vector<SiteGrowth> kept_part(std::vector<SiteGrowth> sites) {
    for (SiteGrowth& each : sites) each.bytes = each.kept();
    std::erase_if(sites, [](const SiteGrowth& each) { return each.bytes <= 0; });
    return sites;
}

constexpr std::size_t kMostDeferred = 4096;  // records, of about 2 KiB each
// Of the BPF maps and of the number that one process may send.
constexpr CallSites::Limits kLimits{.stacks = MS_SITES * 3 / 4, .of_space = MS_STACKS_PER_PROCESS * 3 / 4};

// In code without frame pointers the kernel follows arbitrary values instead of them. So a stack is cut at the first
// address that is in no file of the program.
void cut_at_nonsense(std::vector<NativeLocation>& frames) {
    const auto nowhere = [](const NativeLocation& frame) { return !frame.module; };
    frames.erase(std::find_if(frames.begin(), frames.end(), nowhere), frames.end());
}

// Roles of the processes that live in a target.
class Roles {
  public:
    explicit Roles(const std::vector<Process>& processes) {
        for (const Process& process : processes) roles_[process.task.id] = {process.role, process.rank};
    }
    const RoleKey* of(const ProcessId& process) const {
        const auto found = roles_.find(process);
        return found == roles_.end() ? nullptr : &found->second;
    }

  private:
    std::map<ProcessId, RoleKey> roles_;
};

// Anonymous memory of a process, swapped out or not.
Bytes held_by(const AddressSpace& memory) { return memory.anon + memory.swap; }

void say(SitePlane& plane, const char* reason, std::int64_t bytes) {
    if (bytes != 0) plane.unattributed.push_back({reason, bytes});
}

SiteGrowth growth_at(const CallSitePtr& site, const HeldAtStack& at, const RoleKey& role) {
    return {.site = site,
            .pid = at.process.pid,
            .role = role,
            .bytes = at.bytes,
            .passing = at.passing,
            .arenas = at.arena_sized && is_mapped_by_python(*site)};
}

}  // namespace

GrowthRecorder::GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks,
                               const CudaRecorder& gpu, HostTensorRecorder& host_tensors, bool python,
                               HookBudget budget)
    : root_(std::move(root)),
      reads_(std::move(reads)),
      stacks_(stacks),
      gpu_(gpu),
      host_tensors_(host_tensors),
      symbols_(std::make_shared<HelperReads>(reads_)),
      python_(reads_, stacks_, python),
      codes_([this](pid_t pid) { return stacks_.python_of(pid); },
             [this](pid_t pid, const ms_python& layout, std::uint64_t address, const PythonCode& part) {
                 return reads_->quick.ask(CodeJob{.pid = pid, .layout = layout, .address = address, .code = part});
             }),
      resident_(reads_),
      mapped_(reads_, {.event = [this](const RangeEvent& event) { resident_.apply(event); },
                       .drained = [this] { resident_.ranges_drained(); }}),
      budget_(budget),
      sites_(kLimits) {}

bool GrowthRecorder::take(const ms_code& code, Names names) {
    return codes_.add(code, names == Names::when_read ? PythonCodes::Cut::wait : PythonCodes::Cut::accept);
}

bool GrowthRecorder::take(const RawStack& stack, Names names) {
    auto native = located(stack, names);
    if (!native) return false;
    const bool is_unread = names == Names::as_known && !native->empty() && !native->front().module;
    if (is_unread && stack.python.empty()) {
        ++unread_stacks_;
        const std::lock_guard lock(mutex_);
        sites_.lose_names(stack.id);
        return true;
    }
    CallSite site{.python = {}, .native = std::move(*native)};
    site.python.reserve(stack.python.size());
    for (const RawStack::PythonCall& call : stack.python) site.python.push_back(codes_.frame(stack, call));
    cut_at_nonsense(site.native);
    const std::lock_guard lock(mutex_);
    if (sites_.learn(stack, std::move(site))) return true;
    // The stack is sent again when it is next used.
    stacks_.forget_stack(stack.id);
    resident_.forget_stacks({stack.id});
    sites_.give_up(stack.id);
    return true;
}

// A stack can arrive after its process has executed another program. The maps of the new program must not be used for
// it.
std::optional<std::vector<NativeLocation>> GrowthRecorder::located(const RawStack& stack, Names names) {
    const pid_t pid = stack.process.pid;
    const auto now = stacks_.read_space(pid);
    if (names == Names::as_known || !now || now->space != stack.space)
        return symbols_.locate_as_known(pid, stack.native);
    if (replaced_.erase(pid) != 0) symbols_.forget(pid);
    return symbols_.locate_when_read(pid, stack.native, boot_time());
}

// Takes the records of a process in the order in which they were sent, because a stack refers to code objects that were
// sent before it.
template <class Record>
void GrowthRecorder::take_or_defer(pid_t pid, const Record& record) {
    if (!deferred_.contains(pid) && take(record, Names::when_read)) return;
    deferred_[pid].emplace_back(record);
    expect_names(record);
    if (++deferred_count_ > kMostDeferred) take_deferred_now(deferred_.begin()->first);
}

void GrowthRecorder::expect_names(const RawStack& stack) {
    const std::lock_guard lock(mutex_);
    sites_.expect_names(stack);
}

void GrowthRecorder::take_deferred() {
    for (auto each = deferred_.begin(); each != deferred_.end();) {
        std::deque<Deferred>& records = each->second;
        const auto take_next = [this](const auto& record) { return take(record, Names::when_read); };
        while (!records.empty() && std::visit(take_next, records.front())) {
            records.pop_front();
            --deferred_count_;
        }
        each = records.empty() ? deferred_.erase(each) : std::next(each);
    }
}

// Takes the records with what is known now: the process has ended, or there are too many records to wait any longer.
void GrowthRecorder::take_deferred_now(pid_t pid) {
    const auto found = deferred_.extract(pid);
    if (!found) return;
    deferred_count_ -= found.mapped().size();
    for (const Deferred& each : found.mapped())
        (void)std::visit([this](const auto& record) { return take(record, Names::as_known); }, each);
}

void GrowthRecorder::executed(const ProcessId& process) {
    executed_.insert(process.pid);
    replaced_.insert(process.pid);
}

// Reads the maps of a process while it lives. They are needed for its stacks, which may be named after its end.
void GrowthRecorder::look_at(const ProcessId& process) {
    if (!stacks_.python_of(process.pid)) python_.look_at(process);
    if (replaced_.erase(process.pid) != 0) symbols_.forget(process.pid);
    (void)symbols_.locate_when_read(process.pid, {}, boot_time());
}

void GrowthRecorder::take_events() {
    take_deferred();
    const std::uint64_t began_ns = read_clock().boot_ns;
    stacks_.drain({.code = [this](const ms_code& code) { take_or_defer(static_cast<pid_t>(code.h.pid), code); },
                   .stack = [this](const RawStack& stack) { take_or_defer(stack.process.pid, stack); },
                   .grew = [this](const ProcessId& process) { look_at(process); },
                   .sample = [this](const GrowthSample& sample) { resident_.add(sample); }});
    resident_.samples_drained(began_ns);
}

void GrowthRecorder::begin_new(ProcessTable& processes) {
    if (begun_revision_ == processes.revision()) return;
    bool all = true;
    for (auto& [pid, process] : processes.living()) {
        if (process.growth_begun) continue;
        // The size of a process that started after the scan is not known yet. It is followed after the next scan.
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
    python_.look_at(process.task.id);
}

// Forgets all address spaces of the process except the one that it still uses.
void GrowthRecorder::end(pid_t pid, std::optional<SpaceId> still) {
    for (const SpaceId space : sites_.spaces_of(pid)) {
        if (space == still) continue;
        for (const StackId stack : sites_.end(space)) stacks_.forget_stack(stack);
        codes_.forget(space);
    }
}

// Only the address spaces of new processes are unknown.
void GrowthRecorder::read_spaces(const ProcessTable& processes) {
    for (const auto& [pid, process] : processes.living()) {
        const auto known = spaces_.find(pid);
        if (known != spaces_.end() && known->second.process == process.task.id) continue;
        if (const auto space = stacks_.read_space(pid)) spaces_[pid] = *space;
    }
}

void GrowthRecorder::make_room() {
    if (!sites_.is_full() && !sites_.has_crowded_space()) return;
    std::set<StackId> held = mapped_.stacks();
    held.merge(gpu_.stacks());
    held.merge(host_tensors_.stacks());
    const auto sampled = resident_.by_stack();
    const auto folded = sites_.fold([&](StackId stack) -> std::optional<std::int64_t> {
        if (held.contains(stack)) return std::nullopt;
        const auto size = sampled.find(stack);
        return size == sampled.end() ? 0 : size->second;
    });
    for (const StackId stack : folded.stacks) stacks_.forget_stack(stack);
    resident_.forget_stacks(folded.stacks);
    for (const auto& [pid, stacks] : folded.lost) stacks_.allow_stacks(pid, stacks);
}

// Called before the address spaces of these processes are forgotten.
void GrowthRecorder::name_deferred_of(const std::vector<TrackedProcess>& ended) {
    for (const TrackedProcess& process : ended) take_deferred_now(process.task.id.pid);
}

void GrowthRecorder::end_processes(const ProcessTable& processes) {
    take_events();
    name_deferred_of(processes.ended());
    const std::lock_guard lock(mutex_);
    end_all(processes.ended());
}

std::vector<SiteGrowth> GrowthRecorder::named(const std::vector<HeldAtStack>& held, const RoleKey& role) const {
    std::vector<SiteGrowth> list;
    for (const HeldAtStack& at : held)
        if (const CallSitePtr* site = sites_.site_of(at.stack)) list.push_back(growth_at(*site, at, role));
    return list;
}

namespace {

// The largest sites. A report shows fewer.
std::vector<SiteGrowth> largest(std::vector<SiteGrowth> sites) {
    constexpr std::size_t kMostSites = 256;
    std::ranges::stable_sort(sites, std::ranges::greater{}, &SiteGrowth::bytes);
    if (sites.size() > kMostSites) sites.resize(kMostSites);
    return sites;
}

}  // namespace

// Called before the stacks of the process are forgotten.
void GrowthRecorder::keep_last(const TrackedProcess& process) {
    constexpr std::size_t kMostEnded = 256;
    const ProcessId& id = process.task.id;
    const auto tensors = host_tensors_.end(id);
    if (ended_.size() >= kMostEnded) return;
    const auto space = spaces_.find(id.pid);
    resident_.settle(id);
    const auto resident = resident_.held(id);
    std::int64_t unknown = 0;
    for (const HeldAtStack& at : resident)
        if (!sites_.site_of(at.stack)) unknown += at.bytes;
    ended_[id] = {.at = boot_time(),
                  .resident = largest(named(resident)),
                  .mapped = largest(named(mapped_.held(id))),
                  .tensors_host = largest(named(tensors)),
                  .unknown_resident = unknown,
                  .start_bytes = space == spaces_.end() ? 0 : space->second.start_bytes,
                  .checked_ns = resident_.checked_ns(id)};
}

void GrowthRecorder::end_all(const std::vector<TrackedProcess>& ended) {
    constexpr Seconds kKept{30};  // a report of the death is made within a tick or two
    const Seconds now = boot_time();
    std::erase_if(ended_, [&](const auto& each) { return now - each.second.at > kKept; });
    for (const TrackedProcess& process : ended) {
        const pid_t pid = process.task.id.pid;
        keep_last(process);
        end(pid, std::nullopt);
        resident_.end(process.task.id);
        // Another process may have its pid by now.
        const auto left = stacks_.read_space(pid);
        if (!left || left->process == process.task.id) stacks_.forget(pid);
        spaces_.erase(pid);
        python_.forget(pid);
        symbols_.forget(pid);
        executed_.erase(pid);
        replaced_.erase(pid);
    }
    mapped_.forget_ended();
}

void GrowthRecorder::tick(ProcessTable& processes) {
    take_events();
    python_.look_again();
    resident_.tick(boot_time(), processes.living());
    name_deferred_of(processes.ended());
    for (const pid_t pid : executed_) take_deferred_now(pid);
    const std::lock_guard lock(mutex_);
    read_spaces(processes);
    end_all(processes.ended());
    for (const pid_t pid : std::exchange(executed_, {})) {
        const auto now = stacks_.read_space(pid);
        if (!processes.living().contains(pid) || !now) continue;
        spaces_[pid] = *now;
        end(pid, now->space);
    }
    make_room();
    mind_budget();
}

// CPU time of the processes that grow and of their ended children. The cost of the hook is part of it.
Seconds GrowthRecorder::cpu_of_growing() const { return cpu_time_of(root_, sites_.growing()); }

void GrowthRecorder::mind_budget() {
    const Seconds hook(static_cast<double>(stacks_.cost().ns) * 1e-9);
    switch (budget_.consider(boot_time(), hook, [this] { return cpu_of_growing(); })) {
        case HookBudget::Advice::take_off:
            stacks_.pause();
            was_paused_ = true;
            break;
        case HookBudget::Advice::put_back:
            (void)stacks_.resume();  // on failure the hook stays off, and SelfSample::probes shows that
            break;
        case HookBudget::Advice::stay:
            break;
    }
}

// Sites and unattributed growth add up to the growth of the processes: what they hold now minus what they held when
// they were first seen.
SitePlane GrowthRecorder::resident_plane(const TargetSnapshot& target) {
    if (stacks_.method() == ResidentMethod::none) return {};
    std::vector<HeldAtStack> stacks;
    std::int64_t unknown = 0;  // of processes that have ended
    std::int64_t without_sample = 0;
    std::int64_t before = 0;
    bool paused = false;
    {
        const std::lock_guard lock(mutex_);
        paused = was_paused_;
        for (const Process& process : target.processes) {
            const ProcessId& id = process.task.id;
            const auto ended = ended_.find(id);
            const auto space = spaces_.find(id.pid);
            std::int64_t rest = process.task.memory ? static_cast<std::int64_t>(held_by(*process.task.memory).n) : 0;
            if (ended != ended_.end()) {
                rest -= ended->second.start_bytes + ended->second.unknown_resident;
                unknown += ended->second.unknown_resident;
                for (const SiteGrowth& each : ended->second.resident) rest -= each.bytes;
            } else if (space != spaces_.end() && space->second.process == id) {
                rest -= space->second.start_bytes;
                for (const HeldAtStack& at : resident_.held(id)) {
                    rest -= at.bytes;
                    stacks.push_back(at);
                }
            } else {
                continue;
            }
            if (process.task.memory) (rest > 0 ? without_sample : before) += rest;
        }
    }
    SitePlane plane = held_plane(target, stacks, &Ended::resident);
    say(plane, "unknown_stack", unknown);
    say(plane, paused ? "paused" : "no_address", without_sample);
    say(plane, "before", before);
    return plane;
}

// The oldest check of a process that has samples.
std::optional<Seconds> GrowthRecorder::pages_checked(const TargetSnapshot& target) {
    std::optional<std::uint64_t> oldest;
    const std::lock_guard lock(mutex_);
    for (const Process& process : target.processes) {
        const ProcessId& id = process.task.id;
        const auto ended = ended_.find(id);
        const bool has_ended = ended != ended_.end();
        if (has_ended ? ended->second.resident.empty() : resident_.held(id).empty()) continue;
        const auto checked = has_ended ? ended->second.checked_ns : resident_.checked_ns(id);
        if (!checked) return std::nullopt;
        oldest = std::min(oldest.value_or(*checked), *checked);
    }
    if (!oldest) return std::nullopt;
    const auto now = static_cast<std::uint64_t>(read_clock().boot_ns);
    return Seconds(std::chrono::nanoseconds(now - std::min(now, *oldest)));
}

// What processes hold, by the stacks at which they got it. A report of a death asks for the processes of a tick before
// the death, so those that have ended since are added.
SitePlane GrowthRecorder::held_plane(const TargetSnapshot& target, const std::vector<HeldAtStack>& stacks,
                                     std::vector<SiteGrowth> Ended::* ended) {
    const Roles roles(target.processes);
    SitePlane plane;
    std::int64_t other = 0;
    std::int64_t unknown = 0;
    std::int64_t pending = 0;
    {
        const std::lock_guard lock(mutex_);
        for (const HeldAtStack& at : stacks) {
            if (const CallSitePtr* site = sites_.site_of(at.stack))
                plane.sites.push_back(growth_at(*site, at, *roles.of(at.process)));
            else if (at.stack == kNoStack)
                other += at.bytes;
            else
                (sites_.expects_names(at.stack) ? pending : unknown) += at.bytes;
        }
        if (ended) {
            for (const auto& [process, last] : ended_) {
                const RoleKey* role = roles.of(process);
                if (!role) continue;
                for (const SiteGrowth& each : last.*ended) {
                    plane.sites.push_back(each);
                    plane.sites.back().role = *role;
                }
            }
        }
    }
    say(plane, "other", other);
    say(plane, "unknown_stack", unknown);
    say(plane, "pending", pending);
    return plane;
}

SitePlane GrowthRecorder::gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, nullptr);
    say(plane, "other", held.elsewhere);
    say(plane, "no_room", held.lost);
    return plane;
}

SitePlane GrowthRecorder::mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, &Ended::mapped);
    say(plane, "lost", held.unknown);
    say(plane, "too_many_ranges", held.left_out);
    return plane;
}

SitePlane GrowthRecorder::tensors_plane(const TargetSnapshot& target, const HostTensorRecorder::Held& held) {
    SitePlane plane = held_plane(target, held.stacks, &Ended::tensors_host);
    say(plane, "other", held.elsewhere);
    say(plane, "no_room", held.lost);
    // Said even without bytes, because the list is incomplete during a pause.
    if (held.recording.paused_at_rate) plane.unattributed.push_back({"paused", held.before_pause});
    return plane;
}

void GrowthRecorder::name_mappings(HeapCensus& census) {
    std::vector<AddressRange> ranges;
    ranges.reserve(census.mappings.size());
    for (const HeapMapping& mapping : census.mappings) ranges.push_back({mapping.start, mapping.end});
    const std::vector<StackId> stacks = mapped_.mapped_by(census.process, ranges);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < stacks.size(); ++i)
        if (const CallSitePtr* site = sites_.site_of(stacks[i])) census.mappings[i].mapped_at = place_of(**site);
}

std::vector<LineGrowth> GrowthRecorder::lines(const std::vector<Process>& processes) {
    std::vector<SiteGrowth> touched;
    {
        const std::lock_guard lock(mutex_);
        for (const Process& process : processes)
            std::ranges::move(named(resident_.held(process.task.id), {process.role, process.rank}),
                              std::back_inserter(touched));
    }
    return by_line(touched, kept_at_sites(processes));
}

// Memory that is kept, by the planes that know owners.
KeptSites GrowthRecorder::kept_at_sites(const std::vector<Process>& processes) {
    TargetSnapshot target;
    target.processes = processes;
    const SitePlanes all = site_planes(target);
    SiteNames names(symbols_, NativeReads::Wait::no);
    std::vector<SiteGrowth> mapped = all.plane(PlaneKind::mapped).sites;
    std::stable_sort(mapped.begin(), mapped.end(),
                     [](const SiteGrowth& a, const SiteGrowth& b) { return a.bytes > b.bytes; });
    if (mapped.size() > SiteNames::kMostNamed) mapped.resize(SiteNames::kMostNamed);
    std::erase_if(mapped, [&](const SiteGrowth& each) {
        return each.site->native.empty() || !maps_for_owner(names.named(each.site->native.front()).symbol);
    });
    return {.mapped = kept_part(std::move(mapped)), .tensors = kept_part(all.plane(PlaneKind::tensors_host).sites)};
}

SitePlanes GrowthRecorder::site_planes(const TargetSnapshot& target) {
    const MappedRecorder::Held held = mapped_.held(target.processes);
    const CudaRecorder::HeldPlanes cuda = gpu_.held(target.processes);
    const HostTensorRecorder::Held tensors = host_tensors_.held(target.processes);
    SitePlanes all{.file_mapped_bytes = held.file, .reserved_bytes = held.reserved, .host_tensors = tensors.recording};
    all.plane(PlaneKind::resident) = resident_plane(target);
    all.plane(PlaneKind::mapped) = mapped_plane(target, held);
    all.plane(PlaneKind::tensors_host) = tensors_plane(target, tensors);
    all.plane(PlaneKind::gpu) = gpu_plane(target, cuda.gpu);
    all.plane(PlaneKind::pinned) = gpu_plane(target, cuda.pinned);
    return all;
}

namespace {

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

void GrowthRecorder::remember(const std::vector<TargetSnapshot>& targets, const std::set<std::string>& unread) {
    std::set<std::string> names = unread;
    bool added = false;
    for (const TargetSnapshot& target : targets) {
        names.insert(target.info.name);
        if (!target.up || target.processes.empty()) continue;
        resident_.bound(target.processes);
        const GrowthHistory::Moment moment = moment_of(target);
        {
            const std::lock_guard lock(mutex_);
            if (!history_.of(target.info.name).is_due(moment)) continue;
        }
        const SitePlanes planes = site_planes(target);
        const std::lock_guard lock(mutex_);
        history_.of(target.info.name).add(moment, planes);
        added = true;
    }
    const std::lock_guard lock(mutex_);
    history_.keep_only(names);
    if (added) history_.bound_peaks();
}

// Names the line that keeps the growth, if it is known. The lists show what is held at this moment, the sentence names
// only what stays.
void GrowthRecorder::explain(Growth& growth, GrowthPlane kept_mapped, GrowthPlane kept_tensors,
                             const TargetSnapshot& target) {
    std::swap(growth.mapped, kept_mapped);
    std::swap(growth.tensors_host, kept_tensors);
    Ownership ownership = owner_of(growth, target, read_clock().unix_seconds);
    std::swap(growth.mapped, kept_mapped);
    std::swap(growth.tensors_host, kept_tensors);
    std::optional<LineTrend> trend;
    if (ownership.frame) {
        const std::lock_guard lock(mutex_);
        if (const GrowthHistory* history = history_.find(target.info.name))
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
    UnnamedGrowth collected{.target = target, .growth = {}, .held = site_planes(target)};
    collected.growth = {.resident_method = stacks_.method(),
                        .pages_checked = pages_checked(target),
                        .host_tensors = collected.held.host_tensors};
    const std::lock_guard lock(mutex_);
    if (const GrowthHistory* history = history_.find(target.info.name))
        collected.growth.span = history->apply(request, moment_of(target), collected.held);
    return collected;
}

// Without the lock, because symbols can take long to load.
NamedGrowth GrowthRecorder::name(UnnamedGrowth collected, NativeReads::Wait wait) {
    auto& [target, growth, held] = collected;
    SiteNames names(symbols_, wait);
    const auto kept = [&](PlaneKind kind) {
        // At the peak it matters what was held, whether it was freed soon or not.
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
