#include "model/process_table.h"

#include <algorithm>

namespace memscope {

Faults TrackedProcess::faults_to_book() const {
    if (baseline_wanted) return {};
    const auto rise = [](std::uint64_t now, std::uint64_t booked) { return now > booked ? now - booked : 0; };
    return {rise(task.faults.minor, faults_booked.minor), rise(task.faults.major, faults_booked.major)};
}

CgroupId TrackedProcess::last_target() const {
    if (task.target != kNoCgroup || crossings.empty()) return task.target;
    return crossings.back().from;
}

TrackedProcess* ProcessTable::find(const ProcessId& id) {
    const auto found = living_.find(id.pid);
    return found != living_.end() && found->second.task.id == id ? &found->second : nullptr;
}

void ProcessTable::end(std::unordered_map<pid_t, TrackedProcess>::iterator process) {
    place(process->second, kNoCgroup);
    process->second.ended = true;
    missing_.erase(process->first);
    ended_.push_back(std::move(process->second));
    living_.erase(process);
}

// Whoever holds the pid in the table is gone if somebody else has it now: its exit event was lost.
TrackedProcess& ProcessTable::admit(TaskSample task) {
    if (const auto predecessor = living_.find(task.id.pid); predecessor != living_.end()) {
        ++missed_exits_;
        end(predecessor);
    }
    const CgroupId target = task.target;
    task.target = kNoCgroup;
    TrackedProcess process{.task = std::move(task)};
    process.born_here = process.task.id.start_ns >= since_;
    if (!process.born_here) {
        process.faults_booked = process.task.faults;
        process.baseline_wanted = process.task.faults_partial;
    }
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
    if (find(event.id)) return;  // the scan was first
    TrackedProcess& child = admit({.time_ns = event.time_ns,
                                   .id = event.id,
                                   .parent = event.parent,
                                   .target = event.target,
                                   .comm = event.comm,
                                   .memory = {},
                                   .threads = 1,
                                   .forked_without_exec = true});
    // It starts as a copy of its parent.
    if (const auto parent = living_.find(event.parent); parent != living_.end()) {
        child.argv = parent->second.argv;
        child.rank = parent->second.rank;
        child.details_wanted = parent->second.details_wanted;
    }
}

void ProcessTable::on(const Execed& event) {
    TrackedProcess* process = find(event.id);
    if (!process) return;
    ++process->exec_count;
    process->details_wanted = true;
    process->argv = event.argv;
    if (event.time_ns < process->task.time_ns) return;
    process->task.comm = event.comm;
    process->task.forked_without_exec = false;
}

void ProcessTable::on(const Exited& event) {
    TrackedProcess* process = find(event.id);
    if (!process) return;  // of a process we never saw alive, or the second event of two last threads
    process->task.comm = event.comm;
    process->task.faults.minor = std::max(process->task.faults.minor, event.faults.minor);
    process->task.faults.major = std::max(process->task.faults.major, event.faults.major);
    process->task.forked_without_exec = event.forked_without_exec;
    process->exit_code = event.exit_code;
    if (event.mappings) process->task.mappings = event.mappings;
    end(living_.find(event.id.pid));
}

void ProcessTable::on(const Moved& event) {
    TrackedProcess* process = find(event.id);
    if (!process) {
        if (event.target == kNoCgroup) return;
        // What it faulted elsewhere is not this target's: counting starts with the first scan.
        admit({.time_ns = event.time_ns,
               .id = event.id,
               .parent = event.parent,
               .target = event.target,
               .comm = event.comm,
               .memory = {}})
            .born_here = false;
        return;
    }
    if (event.time_ns < process->task.time_ns) return;  // the scan saw it later, and elsewhere
    place(*process, event.target);
    if (event.target != kNoCgroup) return;
    // Alive, but none of ours any more: for every counter the same as an exit.
    end(living_.find(event.id.pid));
}

// A sample later than all that is known. Its target is left to place().
void ProcessTable::refresh(TrackedProcess& known, const TaskSample& sample) {
    const Faults before = known.task.faults;
    const CgroupId target = known.task.target;
    const auto mappings = known.task.mappings;
    known.task = sample;
    if (!sample.mappings) known.task.mappings = mappings;  // gone with its memory; the exit has the last word
    known.task.target = target;
    known.task.faults.minor = std::max(before.minor, sample.faults.minor);
    known.task.faults.major = std::max(before.major, sample.faults.major);
    if (!known.born_here && (!known.scanned || known.baseline_wanted)) {
        known.faults_booked = known.task.faults;
        known.baseline_wanted = sample.faults_partial;
    }
    known.scanned = true;
}

void ProcessTable::reconcile(std::span<const TaskSample> scan, std::uint64_t began_ns) {
    for (const TaskSample& sample : scan) {
        TrackedProcess* known = find(sample.id);
        if (!known) {
            admit(sample).scanned = true;
            continue;
        }
        missing_.erase(sample.id.pid);
        if (sample.time_ns < known->task.time_ns) continue;  // an event is newer
        refresh(*known, sample);
        place(*known, sample.target);
    }

    std::unordered_map<pid_t, ProcessId> seen;
    for (const TaskSample& sample : scan) seen.emplace(sample.id.pid, sample.id);
    for (auto it = living_.begin(); it != living_.end();) {
        const auto current = it++;
        const ProcessId id = current->second.task.id;
        if (seen.contains(id.pid) || current->second.task.time_ns >= began_ns) continue;
        // Once may be a process just between its last breath and its exit event.
        if (const auto [entry, first] = missing_.try_emplace(id.pid, id); first || entry->second != id) {
            entry->second = id;
            continue;
        }
        ++missed_exits_;
        end(current);
    }
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
    for (TrackedProcess& process : ended_) process.retarget(gone, enclosing);  // not yet booked
    for (auto it = living_.begin(); it != living_.end();) {
        const auto current = it++;
        current->second.retarget(gone, enclosing);
        // It may have come from another target in this tick, which has its exit still to book.
        if (current->second.task.target == kNoCgroup) end(current);
    }
}

void ProcessTable::settle() {
    ended_.clear();
    for (auto& [pid, process] : living_) {
        process.crossings.clear();
        process.faults_booked = process.task.faults;
        if (process.task.mappings) process.mappings_booked = *process.task.mappings;
        process.settled_target = process.task.target;
        process.settled = true;
    }
}

}  // namespace memscope
