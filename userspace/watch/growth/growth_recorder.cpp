#include "watch/growth/growth_recorder.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "analysis/growth/attribution.h"
#include "analysis/growth/growth_sentence.h"
#include "analysis/growth/owner.h"
#include "analysis/targets/target_judge.h"
#include "sources/proc/procfs.h"
#include "watch/clock.h"

namespace memscope {
namespace {

std::string place_of(const CallSite& site) {
    if (const PythonFrame* frame = telling_frame(site.python))
        return fmt::format("{} ({}:{})", frame->function, frame->file.substr(frame->file.rfind('/') + 1), frame->line);
    if (site.native.empty() || !site.native.front().module) return "unknown code";
    const std::string& path = site.native.front().module->name();
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::vector<LineGrowth> by_line(const std::vector<BookedGrowth>& touched, const std::vector<BookedGrowth>& kept) {
    struct Sums {
        std::int64_t touched = 0;
        std::int64_t kept = 0;
    };
    std::map<std::pair<RoleKey, const CallSite*>, Sums> by_site;  // many processes grow at one site
    for (const BookedGrowth& each : touched) by_site[{each.role, each.site.get()}].touched += each.bytes;
    for (const BookedGrowth& each : kept) by_site[{each.role, each.site.get()}].kept += each.bytes;
    std::map<std::pair<RoleKey, std::string>, Sums> by_place;
    for (const auto& [key, sums] : by_site) {
        Sums& sum = by_place[{key.first, place_of(*key.second)}];
        sum.touched += sums.touched;
        sum.kept += sums.kept;
    }
    std::vector<LineGrowth> lines;
    lines.reserve(by_place.size());
    for (const auto& [key, sums] : by_place) lines.push_back({key.first, key.second, sums.touched, sums.kept});
    const auto size = [](const LineGrowth& line) { return std::max(line.bytes, line.kept); };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const LineGrowth& a, const LineGrowth& b) { return size(a) > size(b); });
    return lines;
}

namespace {

constexpr std::size_t kMostDeferred = 4096;                        // records, of about 2 KiB each
constexpr GrowthBook::Limits kLimits{.stacks = MS_SITES * 3 / 4};  // of the kernel's map

Seconds boot_time() { return Seconds(static_cast<double>(read_clock().boot_ns) * 1e-9); }

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

void say(BookedPlane& plane, const char* reason, std::int64_t bytes) {
    if (bytes != 0) plane.unattributed.push_back({reason, bytes});
}

}  // namespace

GrowthRecorder::GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks,
                               const CudaRecorder& gpu, bool python, HookBudget budget)
    : root_(std::move(root)),
      reads_(std::move(reads)),
      stacks_(stacks),
      gpu_(gpu),
      symbols_(std::make_shared<HelperReads>(reads_)),
      python_(reads_, stacks_, python),
      codes_([this](pid_t pid) { return stacks_.python_of(pid); },
             [this](pid_t pid, const ms_python& layout, std::uint64_t address, const PythonCode& part) {
                 return reads_->quick.ask(CodeJob{.pid = pid, .layout = layout, .address = address, .code = part});
             }),
      mapped_(reads_),
      budget_(budget),
      book_(kLimits) {}

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
        book_.lose_names(stack.id);
        return true;
    }
    CallSite site{.python = {}, .native = std::move(*native)};
    site.python.reserve(stack.python.size());
    for (const RawStack::PythonCall& call : stack.python) site.python.push_back(codes_.frame(stack, call));
    cut_at_nonsense(site.native);
    const std::lock_guard lock(mutex_);
    if (book_.learn(stack, std::move(site))) return true;
    // The BPF program sends a stack again only if it has no site. So the site is removed, and the stack is sent again
    // once there is room.
    stacks_.forget_stack(stack.id);
    book_.give_up(stack.id, stacks_.take_site(stack.id));
    return true;
}

// A stack may arrive after its process has executed another program. The maps of that program do not explain it.
std::optional<std::vector<NativeLocation>> GrowthRecorder::located(const RawStack& stack, Names names) {
    const pid_t pid = stack.process.pid;
    const auto now = stacks_.read_space(pid);
    if (names == Names::as_known || !now || now->space != stack.space)
        return symbols_.locate_as_known(pid, stack.native);
    if (replaced_.erase(pid) != 0) symbols_.forget(pid);
    return symbols_.locate_when_read(pid, stack.native, boot_time());
}

// A stack is named by the code objects that came before it, so what a process sent is taken in order.
template <class Record>
void GrowthRecorder::take_or_defer(pid_t pid, const Record& record) {
    if (!deferred_.contains(pid) && take(record, Names::when_read)) return;
    deferred_[pid].emplace_back(record);
    expect_names(record);
    if (++deferred_count_ > kMostDeferred) take_deferred_now(deferred_.begin()->first);
}

void GrowthRecorder::expect_names(const RawStack& stack) {
    const std::lock_guard lock(mutex_);
    book_.expect_names(stack);
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
    stacks_.drain({.code = [this](const ms_code& code) { take_or_defer(static_cast<pid_t>(code.h.pid), code); },
                   .stack = [this](const RawStack& stack) { take_or_defer(stack.process.pid, stack); },
                   .grew = [this](const ProcessId& process) { look_at(process); }});
}

void GrowthRecorder::begin_new(ProcessTable& processes) {
    if (begun_revision_ == processes.revision()) return;
    bool all = true;
    for (auto& [pid, process] : processes.living()) {
        if (process.growth_begun) continue;
        // A process that came after the scan has no size to begin with: the next scan has it.
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
    // A process without memory of its own runs in its parent's until it executes a program.
    if (!process.task.memory || stacks_.follows(process.task.id)) return;
    // A failure is not handled here: the feature counts entries that find no room in its map.
    (void)stacks_.begin(process.task.id, SpaceId{read_clock().boot_ns}, process.task.memory->anon);
    python_.look_at(process.task.id);
}

// Records the growth of the process in all its address spaces except the one that it still uses.
void GrowthRecorder::end(pid_t pid, const GrowthBook::Holder& holder, std::optional<SpaceId> still) {
    const auto last = stacks_.read_space(pid);
    for (const SpaceId space : book_.spaces_of(pid)) {
        if (space == still) continue;
        const SpaceGrowth held =
            last && last->space == space ? *last : SpaceGrowth{.space = space, .process = {pid, 0}};
        for (const StackId stack : book_.end(held, holder)) {
            (void)stacks_.take_site(stack);
            stacks_.forget_stack(stack);
        }
        codes_.forget(space);
    }
}

// If the BPF programs have counted nothing since the last tick, only the address spaces of new processes are unknown.
void GrowthRecorder::read_spaces(const ProcessTable& processes, bool all) {
    for (const auto& [pid, process] : processes.living()) {
        const auto known = spaces_.find(pid);
        if (!all && known != spaces_.end() && known->second.process == process.task.id) continue;
        if (const auto space = stacks_.read_space(pid)) spaces_[pid] = *space;
    }
}

void GrowthRecorder::make_room() {
    if (!book_.is_full()) return;
    std::set<StackId> held = mapped_.stacks();
    held.merge(gpu_.stacks());
    const auto lost = book_.fold([&](StackId stack) -> std::optional<std::int64_t> {
        if (held.contains(stack)) return std::nullopt;
        stacks_.forget_stack(stack);
        return stacks_.take_site(stack);
    });
    for (const auto& [pid, stacks] : lost) stacks_.allow_stacks(pid, stacks);
}

// True if the BPF programs have counted growth since the last call.
bool GrowthRecorder::read_resident() {
    const std::uint64_t bookings = stacks_.cost().bookings;
    const bool booked = std::exchange(seen_bookings_, bookings) != bookings;
    if (booked) book_.set_resident(stacks_.read_sites());
    return booked;
}

void GrowthRecorder::keep_only(const std::set<RunId>& runs) {
    if (runs == kept_runs_) return;
    kept_runs_ = runs;
    const std::lock_guard lock(mutex_);
    book_.keep_only(runs);
}

// Called before the address spaces of these processes are forgotten.
void GrowthRecorder::name_deferred_of(const std::vector<TrackedProcess>& ended) {
    for (const TrackedProcess& process : ended) take_deferred_now(process.task.id.pid);
}

void GrowthRecorder::end_processes(const ProcessTable& processes, const RunsOf& runs_of) {
    take_events();
    name_deferred_of(processes.ended());
    const std::lock_guard lock(mutex_);
    if (read_resident()) read_spaces(processes, true);
    end_all(processes.ended(), runs_of);
}

void GrowthRecorder::end_all(const std::vector<TrackedProcess>& ended, const RunsOf& runs_of) {
    for (const TrackedProcess& process : ended) {
        const pid_t pid = process.task.id.pid;
        end(pid, {process.role, runs_of(process)}, std::nullopt);
        // Another process may have its pid by now.
        const auto left = stacks_.read_space(pid);
        if (!left || left->process == process.task.id) stacks_.forget(pid);
        spaces_.erase(pid);
        python_.forget(pid);
        symbols_.forget(pid);
        executed_.erase(pid);
        replaced_.erase(pid);
    }
}

void GrowthRecorder::tick(ProcessTable& processes, const RunsOf& runs_of) {
    take_events();
    python_.look_again();
    name_deferred_of(processes.ended());
    for (const pid_t pid : executed_) take_deferred_now(pid);
    const std::lock_guard lock(mutex_);
    read_spaces(processes, read_resident());
    end_all(processes.ended(), runs_of);
    for (const pid_t pid : std::exchange(executed_, {})) {
        const auto process = processes.living().find(pid);
        const auto now = stacks_.read_space(pid);
        if (process == processes.living().end() || !now) continue;
        spaces_[pid] = *now;
        end(pid, {process->second.role, runs_of(process->second)}, now->space);
    }
    make_room();
    mind_budget();
}

// CPU time of the processes that grow and of their ended children. The cost of the hook is part of it.
Seconds GrowthRecorder::cpu_of_growing() const {
    constexpr std::size_t kMost = 256;
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    Seconds sum{};
    std::size_t read = 0;
    for (const pid_t pid : book_.growing()) {
        if (++read > kMost) break;
        const auto text = read_file(root_.proc / std::to_string(pid) / "stat", 4096);
        const auto stat = text ? parse_process_stat(*text) : std::nullopt;
        if (stat) sum += Seconds(static_cast<double>(stat->user + stat->system + stat->children) / ticks_per_second);
    }
    return sum;
}

void GrowthRecorder::mind_budget() {
    const Seconds hook(static_cast<double>(stacks_.cost().ns) * 1e-9);
    switch (budget_.consider(boot_time(), hook, [this] { return cpu_of_growing(); })) {
        case HookBudget::Advice::take_off:
            stacks_.pause();
            break;
        case HookBudget::Advice::put_back:
            (void)stacks_.resume();  // on failure the hook stays off, and SelfSample::probes shows that
            break;
        case HookBudget::Advice::stay:
            break;
    }
}

BookedPlane GrowthRecorder::resident_plane(const TargetSnapshot& target) {
    const Roles roles(target.processes);
    std::vector<BookedGrowth> booked;
    GrowthBook::Unnamed unnamed;
    std::int64_t below_step = 0;
    {
        const std::lock_guard lock(mutex_);
        booked = book_.resident(target.run, [&roles](const ProcessId& process) { return roles.of(process); });
        unnamed = book_.past(target.run);
        for (const Process& process : target.processes) {
            const auto found = spaces_.find(process.task.id.pid);
            if (found == spaces_.end() || found->second.process != process.task.id) continue;
            const SpaceGrowth& space = found->second;
            const auto folded = book_.folded(process.task.id);
            unnamed.external += space.external;
            unnamed.paused += space.paused;
            unnamed.other += space.other + folded.other;
            unnamed.unknown_stack += folded.unknown_stack;
            unnamed.pending += folded.pending;
            if (process.task.memory) below_step += static_cast<std::int64_t>(process.task.memory->anon.n) - space.bytes;
        }
    }
    BookedPlane plane{.booked = std::move(booked)};
    say(plane, "external", unnamed.external);
    say(plane, "other", unnamed.other);
    say(plane, "unknown_stack", unnamed.unknown_stack);
    say(plane, "pending", unnamed.pending);
    say(plane, "paused", unnamed.paused);
    say(plane, "exited", unnamed.exited);
    say(plane, "below_step", below_step);
    return plane;
}

// What living processes hold now, by the stacks at which they allocated it.
template <class AtStack>
BookedPlane GrowthRecorder::held_plane(const TargetSnapshot& target, const std::vector<AtStack>& stacks) {
    const Roles roles(target.processes);
    std::vector<BookedGrowth> booked;
    std::int64_t unknown = 0;
    std::int64_t pending = 0;
    {
        const std::lock_guard lock(mutex_);
        for (const AtStack& at : stacks) {
            const CallSitePtr* site = book_.site_of(at.stack);
            if (site)
                booked.push_back({*site, at.process.pid, *roles.of(at.process), at.bytes, true});
            else
                (book_.expects_names(at.stack) ? pending : unknown) += at.bytes;
        }
    }
    BookedPlane plane{.booked = std::move(booked)};
    say(plane, "unknown_stack", unknown);
    say(plane, "pending", pending);
    return plane;
}

BookedPlane GrowthRecorder::gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held) {
    BookedPlane plane = held_plane(target, held.stacks);
    say(plane, "other", held.elsewhere);
    say(plane, "no_room", held.lost);
    return plane;
}

BookedPlane GrowthRecorder::mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held) {
    BookedPlane plane = held_plane(target, held.stacks);
    say(plane, "lost", held.unknown);
    say(plane, "too_many_ranges", held.left_out);
    return plane;
}

void GrowthRecorder::name_mappings(HeapCensus& census) {
    std::vector<AddressRange> ranges;
    ranges.reserve(census.mappings.size());
    for (const HeapMapping& mapping : census.mappings) ranges.push_back({mapping.start, mapping.end});
    const std::vector<StackId> stacks = mapped_.mapped_by(census.process, ranges);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < stacks.size(); ++i)
        if (const CallSitePtr* site = book_.site_of(stacks[i])) census.mappings[i].mapped_at = place_of(**site);
}

std::vector<LineGrowth> GrowthRecorder::lines(RunId run, const std::vector<Process>& processes) {
    const Roles roles(processes);
    std::vector<BookedGrowth> booked;
    {
        const std::lock_guard lock(mutex_);
        booked = book_.resident(run, [&roles](const ProcessId& process) { return roles.of(process); });
    }
    return by_line(booked, kept_at_sites(processes));
}

// Memory that lines keep, by the planes that know owners. A storage of a tensor can be a mapping of its own, so of the
// two planes the one with more bytes at a site counts.
std::vector<BookedGrowth> GrowthRecorder::kept_at_sites(const std::vector<Process>& processes) {
    TargetSnapshot target;
    target.processes = processes;
    const BookedPlanes all = booked_planes(target);
    SiteNames names(symbols_, NativeReads::Wait::no);
    std::vector<BookedGrowth> mapped = all.plane(PlaneKind::mapped).booked;
    std::stable_sort(mapped.begin(), mapped.end(),
                     [](const BookedGrowth& a, const BookedGrowth& b) { return a.bytes > b.bytes; });
    if (mapped.size() > SiteNames::kMostNamed) mapped.resize(SiteNames::kMostNamed);
    std::map<std::tuple<CallSitePtr, pid_t, RoleKey>, std::int64_t> kept;
    for (const BookedGrowth& each : mapped)
        if (!each.site->native.empty() && maps_for_owner(names.named(each.site->native.front()).symbol))
            kept[{each.site, each.pid, each.role}] += each.bytes;
    for (const BookedGrowth& each : all.plane(PlaneKind::tensors_host).booked) {
        std::int64_t& bytes = kept[{each.site, each.pid, each.role}];
        bytes = std::max(bytes, each.bytes);
    }
    std::vector<BookedGrowth> list;
    list.reserve(kept.size());
    for (const auto& [key, bytes] : kept)
        list.push_back({std::get<CallSitePtr>(key), std::get<pid_t>(key), std::get<RoleKey>(key), bytes, true});
    return list;
}

BookedPlanes GrowthRecorder::booked_planes(const TargetSnapshot& target) {
    const MappedRecorder::Held held = mapped_.held(target.processes);
    const CudaRecorder::HeldPlanes cuda = gpu_.held(target.processes);
    BookedPlanes all{.file_mapped_bytes = held.file, .reserved_bytes = held.reserved};
    all.plane(PlaneKind::resident) = resident_plane(target);
    all.plane(PlaneKind::mapped) = mapped_plane(target, held);
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

void GrowthRecorder::remember(const std::vector<TargetSnapshot>& targets) {
    std::set<std::string> names;
    bool added = false;
    for (const TargetSnapshot& target : targets) {
        names.insert(target.info.name);
        if (!target.up || target.processes.empty()) continue;
        const GrowthHistory::Moment moment = moment_of(target);
        {
            const std::lock_guard lock(mutex_);
            if (!history_.of(target.info.name).is_due(moment)) continue;
        }
        const BookedPlanes planes = booked_planes(target);
        const std::lock_guard lock(mutex_);
        history_.of(target.info.name).add(moment, planes);
        added = true;
    }
    const std::lock_guard lock(mutex_);
    history_.keep_only(names);
    if (added) history_.bound_peaks();
}

// Names the line that keeps the growth, if it is known.
void GrowthRecorder::explain(Growth& growth, const TargetSnapshot& target) {
    Ownership ownership = owner_of(growth, target, read_clock().unix_seconds);
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
    BookedPlanes booked = booked_planes(target);
    Growth growth;
    {
        const std::lock_guard lock(mutex_);
        if (const GrowthHistory* history = history_.find(target.info.name))
            growth.span = history->apply(request, moment_of(target), booked);
    }
    // Outside of the lock, because names of native code may take a while to load.
    SiteNames names(symbols_, wait);
    for (std::size_t i = 0; i < kPlanes; ++i) {
        GrowthPlane& plane = growth.plane(static_cast<PlaneKind>(i));
        plane = names.plane(std::move(booked.planes[i].booked));
        plane.unattributed = std::move(booked.planes[i].unattributed);
    }
    growth.file_mapped_bytes = booked.file_mapped_bytes;
    growth.reserved_bytes = booked.reserved_bytes;
    explain(growth, target);
    return growth;
}

}  // namespace memscope
