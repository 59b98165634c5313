#include "watch/growth_recorder.h"

#include <algorithm>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "analysis/attribution.h"
#include "sources/procfs.h"
#include "watch/clock.h"
#include "watch/growth_lines.h"

namespace memscope {
namespace {

constexpr GrowthBook::Limits kLimits{.stacks = MS_SITES * 3 / 4};  // of the kernel's map

Seconds boot_time() { return Seconds(static_cast<double>(read_clock().boot_ns) * 1e-9); }

// Through code that keeps no frame pointers the kernel follows whatever stands in their place. From the first address
// on that is nowhere in the program nothing is believed.
void cut_at_nonsense(std::vector<NativeLocation>& frames) {
    const auto nowhere = [](const NativeLocation& frame) { return !frame.module; };
    frames.erase(std::find_if(frames.begin(), frames.end(), nowhere), frames.end());
}

GrowthSite to_site(const BookedGrowth& booked, NativeSymbols& symbols) {
    GrowthSite site{.bytes = booked.bytes,
                    .living_bytes = booked.living ? booked.bytes : 0,
                    .role = booked.role,
                    .pids = {booked.pid},
                    .python = booked.site->python,
                    .native = {}};
    site.native.reserve(booked.site->native.size());
    for (const NativeLocation& location : booked.site->native) site.native.push_back(symbols.name(location));
    return site;
}

// Many workers grow at the same sites: each is named once.
GrowthPlane to_plane(std::vector<BookedGrowth> booked, NativeSymbols& symbols) {
    const auto place = [](const BookedGrowth& one) { return std::tuple(one.site.get(), one.role); };
    std::sort(booked.begin(), booked.end(),
              [&](const BookedGrowth& a, const BookedGrowth& b) { return place(a) < place(b); });
    GrowthPlane plane;
    const BookedGrowth* before = nullptr;
    for (const BookedGrowth& one : booked) {
        if (before && place(*before) == place(one)) {
            GrowthSite& site = plane.sites.back();
            site.bytes += one.bytes;
            site.living_bytes += one.living ? one.bytes : 0;
            site.pids.push_back(one.pid);
        } else {
            plane.sites.push_back(to_site(one, symbols));
        }
        before = &one;
    }
    plane.sites = merged_sites(std::move(plane.sites));
    return plane;
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

void say(GrowthPlane& plane, const char* reason, std::int64_t bytes) {
    if (bytes != 0) plane.unattributed.push_back({reason, bytes});
}

}  // namespace

GrowthRecorder::GrowthRecorder(SysRoot root, GrowthSignal& signal, const GpuRecorder& gpu, bool python,
                               HookBudget budget)
    : root_(std::move(root)),
      signal_(signal),
      gpu_(gpu),
      symbols_(root_),
      python_(root_, signal_, python),
      codes_([this](pid_t pid) { return signal_.python_of(pid); }),
      mapped_(root_),
      budget_(budget),
      book_(kLimits) {}

CallSite GrowthRecorder::named(const RawStack& stack) {
    CallSite site;
    site.python.reserve(stack.python.size());
    for (const RawStack::PythonCall& call : stack.python) site.python.push_back(codes_.frame(stack, call));
    site.native = located(stack);
    cut_at_nonsense(site.native);
    return site;
}

// A stack may arrive after its process has begun another program, whose maps say nothing about it.
std::vector<NativeLocation> GrowthRecorder::located(const RawStack& stack) {
    const pid_t pid = stack.process.pid;
    const auto now = signal_.read_space(pid);
    if (!now || now->space != stack.space) return symbols_.locate_as_known(pid, stack.native);
    if (replaced_.erase(pid) != 0) symbols_.forget(pid);
    return symbols_.locate(pid, stack.native, boot_time());
}

void GrowthRecorder::executed(const ProcessId& process) {
    executed_.insert(process.pid);
    replaced_.insert(process.pid);
}

// While it lives: what it has mapped where is needed for its stacks, which may outlive it.
void GrowthRecorder::look_at(const ProcessId& process) {
    if (!signal_.python_of(process.pid)) python_.look_at(process);
    if (replaced_.erase(process.pid) != 0) symbols_.forget(process.pid);
    (void)symbols_.locate(process.pid, {}, boot_time());
}

void GrowthRecorder::take_events() {
    signal_.drain({.code = [this](const ms_code& code) { codes_.add(code); },
                   .stack =
                       [this](const RawStack& stack) {
                           CallSite site = named(stack);
                           const std::lock_guard lock(mutex_);
                           if (book_.learn(stack, std::move(site))) return;
                           // Once there is room again, it may come again: one that has a site is not sent anew.
                           signal_.forget_stack(stack.id);
                           book_.give_up(stack.id, signal_.take_site(stack.id));
                       },
                   .grew = [this](const ProcessId& process) { look_at(process); }});
}

void GrowthRecorder::begin(const TrackedProcess& process) {
    mapped_.begin(process);
    // One without memory runs in its parent's until it executes a program.
    if (!process.task.memory || signal_.follows(process.task.id)) return;
    // A full map is counted where it is full.
    (void)signal_.begin(process.task.id, SpaceId{read_clock().boot_ns}, process.task.memory->anon);
    python_.look_at(process.task.id);
}

// What the process held in all its address spaces but the one it still has.
void GrowthRecorder::end(pid_t pid, const GrowthBook::Holder& holder, std::optional<SpaceId> still) {
    const auto last = signal_.read_space(pid);
    for (const SpaceId space : book_.spaces_of(pid)) {
        if (space == still) continue;
        const SpaceGrowth held =
            last && last->space == space ? *last : SpaceGrowth{.space = space, .process = {pid, 0}};
        for (const StackId stack : book_.end(held, holder)) {
            (void)signal_.take_site(stack);
            signal_.forget_stack(stack);
        }
        codes_.forget(space);
    }
}

// Without a booking only those of new processes are not known yet.
void GrowthRecorder::read_spaces(const ProcessTable& processes, bool all) {
    for (const auto& [pid, process] : processes.living()) {
        const auto known = spaces_.find(pid);
        if (!all && known != spaces_.end() && known->second.process == process.task.id) continue;
        if (const auto space = signal_.read_space(pid)) spaces_[pid] = *space;
    }
}

void GrowthRecorder::make_room() {
    if (!book_.is_full()) return;
    std::set<StackId> held = mapped_.stacks();
    held.merge(gpu_.stacks());
    const auto lost = book_.fold([&](StackId stack) -> std::optional<std::int64_t> {
        if (held.contains(stack)) return std::nullopt;
        signal_.forget_stack(stack);
        return signal_.take_site(stack);
    });
    for (const auto& [pid, stacks] : lost) signal_.allow_stacks(pid, stacks);
}

// True where the kernel has counted something since the last time.
bool GrowthRecorder::read_resident() {
    const std::uint64_t bookings = signal_.cost().bookings;
    const bool booked = std::exchange(seen_bookings_, bookings) != bookings;
    if (booked) book_.set_resident(signal_.read_sites());
    return booked;
}

void GrowthRecorder::keep_only(const std::set<RunId>& runs) {
    if (runs == kept_runs_) return;
    kept_runs_ = runs;
    const std::lock_guard lock(mutex_);
    book_.keep_only(runs);
}

void GrowthRecorder::end_processes(const ProcessTable& processes, const RunsOf& runs_of) {
    take_events();
    const std::lock_guard lock(mutex_);
    if (read_resident()) read_spaces(processes, true);
    end_all(processes.ended(), runs_of);
}

void GrowthRecorder::end_all(const std::vector<TrackedProcess>& ended, const RunsOf& runs_of) {
    for (const TrackedProcess& process : ended) {
        const pid_t pid = process.task.id.pid;
        end(pid, {process.role, runs_of(process)}, std::nullopt);
        // Somebody else may have its pid by now.
        const auto left = signal_.read_space(pid);
        if (!left || left->process == process.task.id) signal_.forget(pid);
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
    const std::lock_guard lock(mutex_);
    read_spaces(processes, read_resident());
    end_all(processes.ended(), runs_of);
    for (const pid_t pid : std::exchange(executed_, {})) {
        const auto process = processes.living().find(pid);
        const auto now = signal_.read_space(pid);
        if (process == processes.living().end() || !now) continue;
        spaces_[pid] = *now;
        end(pid, {process->second.role, runs_of(process->second)}, now->space);
    }
    make_room();
    mind_budget();
}

// CPU time of those that grow and of their children that have ended: the hook's cost is theirs.
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
    const Seconds hook(static_cast<double>(signal_.cost().ns) * 1e-9);
    switch (budget_.consider(boot_time(), hook, [this] { return cpu_of_growing(); })) {
        case HookBudget::Advice::take_off:
            signal_.pause();
            break;
        case HookBudget::Advice::put_back:
            (void)signal_.resume();  // else it stays off, which the probes say
            break;
        case HookBudget::Advice::stay:
            break;
    }
}

GrowthPlane GrowthRecorder::resident_plane(const TargetSnapshot& target) {
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
            if (process.task.memory) below_step += static_cast<std::int64_t>(process.task.memory->anon.n) - space.bytes;
        }
    }
    // Names of native code may take a while to load; nobody waits for it.
    GrowthPlane plane = to_plane(std::move(booked), symbols_);
    say(plane, "external", unnamed.external);
    say(plane, "other", unnamed.other);
    say(plane, "unknown_stack", unnamed.unknown_stack);
    say(plane, "paused", unnamed.paused);
    say(plane, "exited", unnamed.exited);
    say(plane, "below_step", below_step);
    return plane;
}

// What living processes hold now, by the stacks it was taken at.
template <class AtStack>
GrowthPlane GrowthRecorder::held_plane(const TargetSnapshot& target, const std::vector<AtStack>& stacks) {
    const Roles roles(target.processes);
    std::vector<BookedGrowth> booked;
    std::int64_t other = 0;
    {
        const std::lock_guard lock(mutex_);
        for (const AtStack& at : stacks) {
            const CallSitePtr* site = book_.site_of(at.stack);
            if (site)
                booked.push_back({*site, at.process.pid, *roles.of(at.process), at.bytes, true});
            else
                other += at.bytes;
        }
    }
    GrowthPlane plane = to_plane(std::move(booked), symbols_);
    say(plane, "unknown_stack", other);
    return plane;
}

GrowthPlane GrowthRecorder::gpu_plane(const TargetSnapshot& target, const GpuRecorder::Held& held) {
    GrowthPlane plane = held_plane(target, held.stacks);
    say(plane, "other", held.elsewhere);
    say(plane, "no_room", held.lost);
    return plane;
}

GrowthPlane GrowthRecorder::mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held) {
    GrowthPlane plane = held_plane(target, held.stacks);
    say(plane, "lost", held.unknown);
    say(plane, "too_many_ranges", held.left_out);
    return plane;
}

std::vector<LineGrowth> GrowthRecorder::lines(const TargetSnapshot& target) {
    const Roles roles(target.processes);
    std::vector<BookedGrowth> booked;
    {
        const std::lock_guard lock(mutex_);
        booked = book_.resident(target.run, [&roles](const ProcessId& process) { return roles.of(process); });
    }
    return by_line(booked);
}

Growth GrowthRecorder::report(const TargetSnapshot& target) {
    const MappedRecorder::Held held = mapped_.held(target.processes);
    const GpuRecorder::HeldPlanes cuda = gpu_.held(target.processes);
    return {.resident = resident_plane(target),
            .mapped = mapped_plane(target, held),
            .gpu = gpu_plane(target, cuda.gpu),
            .pinned = gpu_plane(target, cuda.pinned),
            .file_mapped_bytes = held.file,
            .reserved_bytes = held.reserved};
}

}  // namespace memscope
