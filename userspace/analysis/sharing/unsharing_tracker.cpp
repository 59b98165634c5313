#include "analysis/sharing/unsharing_tracker.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace memscope {
namespace {

// A shell forks for every pair of parentheses. For such small processes all memory is assumed to be shared.
constexpr Bytes kSmall{4ULL << 20};

void arrive(const Sharer& sharer, const Sharers& before, std::uint64_t before_ns, const Sharers& now, Bytes page,
            SharingChange& change) {
    const bool born = sharer.id.start_ns >= before_ns;
    // After an exec it shares nothing: its memory is in both sums, which does not change D.
    if (!sharer.forked && born) return;
    const Sharer* parent_before = find_sharer(before, sharer.parent);
    const Sharer* parent_now = find_sharer(now, sharer.parent);
    if (!born || !parent_now) {
        change.blind = change.blind || sharer.anon > kSmall;  // it may share memory with a process that is not watched
        return;
    }
    // The parent may have grown before the fork and after it. At the fork it had at least the smaller of its two sizes.
    // The new process also inherited all memory for which it had no page fault of its own.
    const Bytes most = std::min(sharer.anon, parent_now->anon);
    Bytes inherited = most;
    if (parent_before) {
        const Bytes without_fault = sharer.anon - Bytes{sharer.minor_faults * page.n};
        inherited = std::min(most, std::max(parent_before->anon, without_fault));
    }
    change.born[sharer.id] = inherited;
    change.added += inherited;
}

void leave(const Sharer& sharer, const std::set<pid_t>& parents, SharingChange& change) {
    // A process that shared nothing leaves both sums, which does not change D.
    if (!sharer.forked && !parents.contains(sharer.id.pid)) return;
    if (sharer.anon > kSmall)
        change.blind = true;
    else
        change.taken += sharer.anon;
}

std::set<pid_t> parents_of_forked(const Sharers& all) {
    std::set<pid_t> parents;
    for (const Sharer& sharer : all)
        if (sharer.forked) parents.insert(sharer.parent);
    return parents;
}

}  // namespace

Sharers sharers_of(std::span<const Process> processes) {
    Sharers all;
    for (const Process& process : processes) {
        const TaskSample& task = process.task;
        if (!task.memory) continue;
        all.push_back({.id = task.id,
                       .anon = task.memory->anon,
                       .mapped = task.memory->file + task.memory->shmem,
                       .swap = task.memory->swap,
                       .parent = task.parent,
                       .forked = task.forked_without_exec,
                       .minor_faults = task.faults.minor});
    }
    return all;
}

const Sharer* find_sharer(const Sharers& all, const ProcessId& id) {
    const auto found = std::ranges::lower_bound(all, id, {}, &Sharer::id);
    return found != all.end() && found->id == id ? &*found : nullptr;
}

const Sharer* find_sharer(const Sharers& all, pid_t pid) {
    const auto found = std::ranges::lower_bound(all, ProcessId{pid, 0}, {}, &Sharer::id);
    return found != all.end() && found->id.pid == pid ? &*found : nullptr;
}

Bytes summed_anon(const Sharers& all) {
    Bytes sum;
    for (const Sharer& sharer : all) sum += sharer.anon;
    return sum;
}

SharingChange compare(const Sharers& before, std::uint64_t before_ns, const Sharers& now, Bytes page) {
    SharingChange change;
    Bytes swap_before, swap_now;
    const std::set<pid_t> parents = parents_of_forked(before);
    for (const Sharer& sharer : now) {
        swap_now += sharer.swap;
        const Sharer* was = find_sharer(before, sharer.id);
        if (!was)
            arrive(sharer, before, before_ns, now, page, change);
        else if (was->forked && !sharer.forked)
            leave(*was, parents, change);  // it executed a program
    }
    for (const Sharer& sharer : before) {
        swap_before += sharer.swap;
        if (!find_sharer(now, sharer.id)) leave(sharer, parents, change);
    }
    // A shared page that is swapped out leaves the sum of the processes several times, but the cgroup only once.
    change.blind = change.blind || swap_before != swap_now;
    return change;
}

namespace {

constexpr Bytes kMaterial{64ULL << 20};
constexpr std::uint64_t kMaterialPart = 50;  // divisor of the target's memory: 2 %
constexpr Bytes kWorthCounting{1ULL << 20};

std::string_view noun_of(Role role) {
    if (role == Role::dataloader_worker) return "worker";
    if (role == Role::compile_worker) return "compile worker";
    return "forked process";
}

std::string many(std::uint64_t n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

}  // namespace

void UnsharingStory::add(const Copier& process) {
    if (process.copied < kWorthCounting) return;
    Sum& sum = kinds_[{process.role, process.parent}];
    sum.copied += process.copied;
    ++sum.processes;
    sum.since_fork = sum.since_fork && process.since_fork;
    sum.confirmed = sum.confirmed && process.confirmed;
}

bool UnsharingStory::is_material(Bytes target) const {
    Bytes all;
    for (const auto& [kind, sum] : kinds_) all += sum.copied;
    return all >= kMaterial && all.n >= target.n / kMaterialPart;
}

std::map<UnsharingStory::Kind, UnsharingStory::Sum>::const_iterator UnsharingStory::most() const {
    return std::ranges::max_element(kinds_, {}, [](const auto& entry) { return entry.second.copied; });
}

std::optional<Copiers> UnsharingStory::copiers() const {
    const auto found = most();
    if (found == kinds_.end()) return std::nullopt;
    const auto& [kind, sum] = *found;
    return Copiers{.role = kind.role, .parent = kind.parent, .processes = sum.processes, .confirmed = sum.confirmed};
}

std::string UnsharingStory::text() const {
    const auto found = most();
    if (found == kinds_.end()) return {};
    const auto& [kind, sum] = *found;
    const bool one = sum.processes == 1;
    const std::string whose = kind.parent == Role::trainer ? "the trainer's" : one ? "its parent's" : "their parent's";
    const std::string_view since = sum.since_fork ? (one ? "since it was forked" : "since they were forked")
                                   : one          ? "since it has been watched"
                                                  : "since they have been watched";
    // DataLoader workers run Python. In other processes the writer is not known.
    const std::string_view why =
        kind.role == Role::dataloader_worker
            ? "CPython's reference counts do this; keep datasets in arrays, not lists of objects"
            : "a page is copied when a process writes to it";
    const std::string_view did = sum.confirmed ? (one ? "has" : "have") : (one ? "seems to have" : "seem to have");
    return fmt::format("{} {} copied {} of {} pages {}; {}", many(sum.processes, noun_of(kind.role)), did,
                       human_size(sum.copied), whose, since, why);
}

namespace {

constexpr Seconds kFaultsFade{5};                 // half-life; the sums of the cgroup can be two seconds old
constexpr std::uint64_t kPagesPerFileFault = 16;  // pages that the kernel maps around one fault
constexpr double kMostlyConfirmed = 0.75;
constexpr Bytes kMostDebt{64ULL << 20};  // the cgroup's counters may be off by 64 pages for each CPU

double number(Bytes bytes) { return static_cast<double>(bytes.n); }
double signed_difference(Bytes a, Bytes b) { return number(a) - number(b); }

const Process* find_process(std::span<const Process> processes, pid_t pid) {
    const auto pid_of = [](const Process& process) { return process.task.id.pid; };
    const auto found = std::ranges::lower_bound(processes, pid, {}, pid_of);
    return found != processes.end() && pid_of(*found) == pid ? &*found : nullptr;
}

}  // namespace

Sharing UnsharingTracker::take(const Tick& tick, const SharingReadings& readings) {
    Sharers now = sharers_of(tick.processes);
    const SharingChange change = before_ns_ ? compare(before_, *before_ns_, now, page_) : SharingChange{.blind = true};
    const auto fall = fall_of_sharing(tick, now, change);
    follow_workers(tick, now, change);
    if (before_ns_) count_faults(now, Seconds{static_cast<double>(tick.time_ns - *before_ns_) * 1e-9});
    attribute(fall);
    read(readings, now);
    show();

    before_ns_ = tick.time_ns;
    cgroup_anon_before_ = tick.cgroup_anon;
    Sharing out{.summed_anon = summed_anon(now), .cgroup_anon = tick.cgroup_anon};
    before_ = std::move(now);
    describe_unshared(out, tick.usage);
    return out;
}

// The fall of D since the last tick that forks and exits do not explain. None if it cannot be determined.
std::optional<Bytes> UnsharingTracker::fall_of_sharing(const Tick& tick, const Sharers& now,
                                                       const SharingChange& change) {
    if (change.blind || !tick.cgroup_anon || !cgroup_anon_before_) return std::nullopt;
    const double rise = signed_difference(summed_anon(now), *tick.cgroup_anon) -
                        signed_difference(summed_anon(before_), *cgroup_anon_before_) - number(change.added) +
                        number(change.taken);
    // If the parent grew before the fork, its children have inherited more memory than is known. Then the rise is no
    // noise, so it is not added to the debt.
    if (rise > 0 && (change.added.n > 0 || change.taken.n > 0)) return Bytes{};
    debt_ = std::min(debt_ + rise, number(kMostDebt));
    if (debt_ >= 0) return Bytes{};
    return Bytes{static_cast<std::uint64_t>(-std::exchange(debt_, 0))};
}

void UnsharingTracker::follow_workers(const Tick& tick, const Sharers& now, const SharingChange& change) {
    std::erase_if(workers_, [&](const auto& entry) {
        const Sharer* still = find_sharer(now, entry.first);
        return !still || !still->forked;
    });
    std::set<pid_t> parents;
    for (const Sharer& sharer : now)
        if (sharer.forked) parents.insert(sharer.parent);
    for (const Process& process : tick.processes) {
        if (!process.task.forked_without_exec || !process.task.memory) continue;
        auto worker = workers_.find(process.task.id);
        if (worker == workers_.end()) {
            // A process that was forked by a process outside of the target shares memory that is not counted here.
            const Process* parent = find_process(tick.processes, process.task.parent);
            if (!parent || !parent->task.memory) continue;
            worker = workers_.emplace(process.task.id, Worker{}).first;
            worker->second.parent_role = parent->role;
            worker->second.faults_began = process.task.faults.minor;
            if (const auto born = change.born.find(process.task.id); born != change.born.end()) {
                // Right after its fork, a process has no private anonymous page and had no fault.
                worker->second.since_fork = true;
                worker->second.faults_began = 0;
                worker->second.baseline = {.own = {}, .anon = born->second};
            }
        }
        worker->second.role = {process.role, process.rank};
        worker->second.has_children = parents.contains(process.task.id.pid);
    }
}

void UnsharingTracker::count_faults(const Sharers& now, Seconds passed) {
    const double kept = std::exp2(-passed / kFaultsFade);
    for (auto& [id, worker] : workers_) {
        worker.faulted *= kept;
        worker.unexplained *= kept;
        const Sharer& is = *find_sharer(now, id);
        const Sharer* was = find_sharer(before_, id);
        if (!was && !worker.since_fork) continue;
        const Sharer then = was ? *was : Sharer{.anon = worker.baseline->anon};
        if (is.minor_faults < then.minor_faults) continue;  // the scan missed some threads
        const double faults = static_cast<double>(is.minor_faults - then.minor_faults) * number(page_);
        const double growth = number(is.anon - then.anon) + number(is.mapped - then.mapped) / kPagesPerFileFault;
        worker.faulted += faults;
        worker.unexplained += std::max(faults - growth, 0.0);
    }
}

void UnsharingTracker::attribute(std::optional<Bytes> fall) {
    double faulted = 0, unexplained = 0;
    for (const auto& [id, worker] : workers_) {
        if (worker.has_children) continue;
        faulted += worker.faulted;
        unexplained += worker.unexplained;
    }
    // A copy needs a page fault. A fall without faults is shared memory that was freed.
    const double granted = fall ? std::min(number(*fall), faulted) : 0;
    for (auto& [id, worker] : workers_) {
        if (worker.has_children) continue;
        if (!fall) {
            worker.possible += std::exchange(worker.faulted, 0);
            worker.unexplained = 0;
            continue;
        }
        if (granted <= 0) continue;
        const double share = granted * (unexplained > 0 ? worker.unexplained / unexplained : worker.faulted / faulted);
        worker.attributed += share;
        worker.possible += share;
        worker.faulted = std::max(worker.faulted - share, 0.0);
        worker.unexplained = std::max(worker.unexplained - share, 0.0);
    }
}

void UnsharingTracker::read(const SharingReadings& readings, const Sharers& now) {
    for (auto& [id, worker] : workers_) {
        const double attributed_before = std::exchange(worker.attributed_last_tick, worker.attributed);
        const auto found = readings.find(id);
        worker.just_read = found != readings.end() && found->second.pages && found->second.read_ns != worker.read_ns;
        if (!worker.just_read) continue;
        worker.read_ns = found->second.read_ns;
        if (worker.has_children) continue;
        const Bytes own = found->second.pages->own_anon;
        worker.attributed_until_read = attributed_before;  // its pages were read between two ticks
        const Bytes anon = found->second.pages->anonymous;
        if (!worker.baseline) worker.baseline = {.own = own, .anon = anon};
        const double faults =
            static_cast<double>(find_sharer(now, id)->minor_faults) - static_cast<double>(worker.faults_began);
        const double became_own = number(own - worker.baseline->own) - number(anon - worker.baseline->anon);
        worker.copied = std::max(std::min(became_own, faults * number(page_)), worker.copied.value_or(0));
    }
}

bool UnsharingTracker::Worker::is_confirmed() const { return copied && confirmed >= kMostlyConfirmed * shown; }

void UnsharingTracker::show() {
    double copied = 0, possible = 0;
    for (const auto& [id, worker] : workers_) {
        if (!worker.copied) continue;
        copied += *worker.copied;
        possible += worker.possible;
    }
    const double believed = copied > possible ? possible / copied : 1;
    for (auto& [id, worker] : workers_) {
        if (worker.copied) worker.confirmed = std::max(worker.confirmed, *worker.copied * believed);
        // Pages that were copied between a tick and the following read are in both figures.
        const double figure = worker.copied ? std::min(worker.confirmed + worker.since_read(),
                                                       std::max(worker.confirmed, worker.possible))
                                            : worker.attributed;
        worker.shown = worker.just_read ? figure : std::max(worker.shown, figure);
    }
}

Bytes UnsharingTracker::copied_since_read(const ProcessId& id) const {
    const auto found = workers_.find(id);
    if (found == workers_.end()) return {};
    const Worker& worker = found->second;
    return {static_cast<std::uint64_t>(worker.copied ? worker.since_read() : worker.attributed)};
}

void UnsharingTracker::describe_unshared(Sharing& out, Bytes usage) {
    UnsharingStory story;
    for (const auto& [id, worker] : workers_) {
        const bool known = worker.copied || out.cgroup_anon;
        const Bytes copied{static_cast<std::uint64_t>(worker.shown)};
        if (!known || (worker.has_children && copied.n == 0)) continue;
        Unshared& unshared = out.unshared[worker.role];
        unshared.bytes += copied;
        unshared.confirmed = unshared.confirmed && worker.is_confirmed();
        ++unshared.processes;
        story.add({.role = worker.role.role,
                   .parent = worker.parent_role,
                   .copied = copied,
                   .since_fork = worker.since_fork,
                   .confirmed = worker.is_confirmed()});
    }
    out.copiers = story.copiers();
    material_ = story.is_material(material_ ? Bytes{} : usage);
    if (material_) out.explanation = story.text();
}

}  // namespace memscope
