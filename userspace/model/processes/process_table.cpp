#include "model/processes/process_table.h"

#include <algorithm>
#include <utility>

namespace memscope {

Faults TrackedProcess::uncounted_faults() const {
    if (baseline_wanted) return {};
    const auto rise = [](std::uint64_t now, std::uint64_t counted) { return now > counted ? now - counted : 0; };
    return {rise(task.faults.minor, faults_counted.minor), rise(task.faults.major, faults_counted.major)};
}

bool TrackedProcess::has_news() const {
    return !settled || ended || role_changed || mappings_changed || !crossings.empty() ||
           uncounted_faults() != Faults{};
}

void TrackedProcess::take(const Mappings* latest, std::uint64_t activity) {
    if (!latest) return;  // the process has given up its memory; its exit event has the final values
    if (mappings && mappings_activity == activity) return;
    mappings = *latest;
    mappings_activity = activity;
    mappings_changed = true;
}

void TrackedProcess::settle() {
    crossings.clear();
    faults_counted = task.faults;
    if (mappings_changed) mappings_counted = *mappings;
    mappings_changed = role_changed = false;
    settled_target = task.target;
    settled = true;
}

CgroupId TrackedProcess::last_target() const {
    if (task.target != kNoCgroup || crossings.empty()) return task.target;
    return crossings.back().from;
}

TrackedProcess* ProcessTable::find(const ProcessId& id) {
    const auto found = living_.find(id.pid);
    return found != living_.end() && found->second.task.id == id ? &found->second : nullptr;
}

void ProcessTable::end(Living::iterator process) {
    ++revision_;
    place(process->second, kNoCgroup);
    process->second.ended = true;
    ended_.push_back(std::move(process->second));
    living_.erase(process);
}

// If the table has another process with this pid, that process has exited and its exit event was lost.
TrackedProcess& ProcessTable::admit(TaskSample task) {
    if (const auto predecessor = living_.find(task.id.pid); predecessor != living_.end()) {
        ++missed_exits_;
        end(predecessor);
    }
    ++revision_;
    const CgroupId target = task.target;
    task.target = kNoCgroup;
    TrackedProcess process{.task = std::move(task)};
    process.born_here = process.task.id.start_ns >= since_;
    if (!process.born_here) {
        process.faults_counted = process.task.faults;
        process.baseline_wanted = process.task.faults_partial;
    }
    process.root = process.task.id;
    if (const auto parent = living_.find(process.task.parent); parent != living_.end())
        process.root = parent->second.root;
    auto& entry = living_[process.task.id.pid] = std::move(process);
    place(entry, target);
    return entry;
}

void ProcessTable::place(TrackedProcess& process, CgroupId target) {
    if (process.task.target == target) return;
    process.crossings.push_back({process.task.target, target});
    process.task.target = target;
}

void ProcessTable::apply(const TreeEvent& event) {
    std::visit([this](const auto& e) { on(e); }, event);
}

void ProcessTable::on(const Forked& event) {
    if (find(event.id)) return;  // the scan has already added it
    TrackedProcess& child = admit({.time_ns = event.time_ns,
                                   .id = event.id,
                                   .parent = event.parent,
                                   .target = event.target,
                                   .comm = event.comm,
                                   .memory = {},
                                   .threads = 1,
                                   .forked_without_exec = true});
    // A child starts as a copy of its parent.
    if (const auto parent = living_.find(event.parent); parent != living_.end()) {
        child.argv = parent->second.argv;
        child.command = parent->second.command;
        child.rank = parent->second.rank;
        child.details_wanted = parent->second.details_wanted;
    }
}

std::shared_ptr<const std::string> command_line(const TrackedProcess& process) {
    constexpr std::size_t kMostBytes = 512;
    if (process.command) return process.command;
    std::string command;
    for (const std::string& argument : process.argv) {
        if (!command.empty()) command += ' ';
        command += argument;
        if (command.size() >= kMostBytes) break;
    }
    command.resize(std::min(command.size(), kMostBytes));
    return std::make_shared<const std::string>(std::move(command));
}

void ProcessTable::on(const Execed& event) {
    TrackedProcess* process = find(event.id);
    if (!process) return;
    ++revision_;
    ++process->exec_count;
    process->gpu_context = false;
    process->gpu_index.reset();
    process->details_wanted = true;
    process->argv = event.argv;
    process->command.reset();
    if (event.time_ns < process->task.time_ns) return;
    process->task.comm = event.comm;
    process->task.forked_without_exec = false;
}

void ProcessTable::set_details(TrackedProcess& process, std::vector<std::string> argv, std::optional<int> rank) {
    ++revision_;
    process.argv = std::move(argv);
    process.command.reset();
    process.rank = rank;
}

void ProcessTable::note_gpu_context(TrackedProcess& process, std::optional<int> only_index) {
    if (std::exchange(process.gpu_context, true)) return;
    process.gpu_index = only_index;
    ++revision_;
}

void ProcessTable::on(const Exited& event) {
    departed_.push_back({event.id, event.time_ns});
    TrackedProcess* process = find(event.id);
    if (!process) return;  // never seen alive, or the second exit event of two threads that exited at the same time
    process->task.comm = event.comm;
    process->task.faults.minor = std::max(process->task.faults.minor, event.faults.minor);
    process->task.faults.major = std::max(process->task.faults.major, event.faults.major);
    process->task.forked_without_exec = event.forked_without_exec;
    process->exit_code = event.exit_code;
    if (event.mappings) {
        process->mappings = event.mappings;
        process->mappings_changed = true;
    }
    end(living_.find(event.id.pid));
}

void ProcessTable::on(const Moved& event) {
    if (event.target == kNoCgroup) departed_.push_back({event.id, event.time_ns});
    TrackedProcess* process = find(event.id);
    if (!process) {
        if (event.target == kNoCgroup) return;
        // Faults before the move do not count for this target: counting starts with the first scan.
        admit({.time_ns = event.time_ns,
               .id = event.id,
               .parent = event.parent,
               .target = event.target,
               .comm = event.comm,
               .memory = {}})
            .born_here = false;
        return;
    }
    if (event.time_ns < process->task.time_ns) return;  // the scan is newer than the event
    place(*process, event.target);
    process->task.time_ns = event.time_ns;
    if (event.target != kNoCgroup) return;
    // The process has left all targets. For the counters of targets this is like an exit.
    end(living_.find(event.id.pid));
}

// Takes a sample that is newer than the known state. place() handles its target.
void ProcessTable::refresh(TrackedProcess& known, const TaskSample& sample) {
    const Faults before = known.task.faults;
    const CgroupId target = known.task.target;
    if (!known.scanned || known.task.parent != sample.parent || known.task.comm != sample.comm ||
        known.task.forked_without_exec != sample.forked_without_exec ||
        known.task.memory.has_value() != sample.memory.has_value())
        ++revision_;
    known.task = sample;
    known.task.target = target;
    known.task.faults.minor = std::max(before.minor, sample.faults.minor);
    known.task.faults.major = std::max(before.major, sample.faults.major);
    if (!known.born_here && (!known.scanned || known.baseline_wanted)) {
        known.faults_counted = known.task.faults;
        known.baseline_wanted = sample.faults_partial;
    }
    known.scanned = true;
}

void ProcessTable::see(TrackedProcess& known, const ScannedTask& scanned) {
    known.ended_unseen = false;
    if (scanned.task.time_ns < known.task.time_ns) return;  // an event is newer
    refresh(known, scanned.task);
    known.take(scanned.mappings, scanned.mappings_activity);
    place(known, scanned.task.target);
}

// Ignores a process that exited or left after the scan visited it.
void ProcessTable::admit(const ScannedTask& scanned) {
    const Departure visit{scanned.task.id, scanned.task.time_ns};
    const auto later = std::ranges::lower_bound(departed_, visit);
    if (later != departed_.end() && later->id == visit.id) return;
    TrackedProcess& process = admit(scanned.task);
    process.scanned = true;
    process.take(scanned.mappings, scanned.mappings_activity);
}

void ProcessTable::miss(Living::iterator process, std::uint64_t scan_began_ns, const IsEnding& is_ending) {
    if (process->second.task.time_ns >= scan_began_ns) return;
    // If is_ending() says that the process has ended, its exit event has been sent. But the event may have come after
    // the events of this scan were taken. They are taken again before the next scan, so only a process that is missing
    // there as well has a lost exit event.
    if (!process->second.ended_unseen) {
        process->second.ended_unseen = !is_ending || !is_ending(process->second.task.id);
        return;
    }
    ++missed_exits_;
    end(process);
}

// Walks the table and the scan in parallel, both sorted by pid.
void ProcessTable::reconcile(std::span<const ScannedTask> scan, std::uint64_t began_ns, const IsEnding& is_ending) {
    std::ranges::sort(departed_);
    in_order_.clear();
    for (const ScannedTask& scanned : scan) in_order_.push_back(&scanned);
    const auto id_of = [](const ScannedTask* scanned) { return scanned->task.id; };
    if (!std::ranges::is_sorted(in_order_, {}, id_of)) std::ranges::sort(in_order_, {}, id_of);

    auto known = living_.begin();
    for (const ScannedTask* scanned : in_order_) {
        const ProcessId id = scanned->task.id;
        while (known != living_.end() && known->first < id.pid) miss(known++, began_ns, is_ending);
        if (known == living_.end() || known->second.task.id != id) {
            if (known != living_.end() && known->first == id.pid)
                ++known;  // an earlier process with this pid: admit() ends it
            admit(*scanned);
        } else {
            see((known++)->second, *scanned);
        }
    }
    while (known != living_.end()) miss(known++, began_ns, is_ending);
}

void TrackedProcess::retarget(CgroupId gone, CgroupId enclosing) {
    const auto replace = [&](CgroupId& target) {
        if (target == gone) target = enclosing;
    };
    replace(task.target);
    replace(settled_target);
    for (Crossing& crossing : crossings) {
        replace(crossing.from);
        replace(crossing.to);
    }
}

void ProcessTable::retarget(CgroupId gone, CgroupId enclosing) {
    for (TrackedProcess& process : ended_) process.retarget(gone, enclosing);  // not counted yet
    for (auto it = living_.begin(); it != living_.end();) {
        const auto current = it++;
        current->second.retarget(gone, enclosing);
        // The process may have moved here from another target in this tick, where its exit must still be counted.
        if (current->second.task.target == kNoCgroup) end(current);
    }
}

void ProcessTable::forget_ended() {
    ended_.clear();
    departed_.clear();
}

}  // namespace memscope
