#include "analysis/roles/own_memory.h"

#include <algorithm>
#include <set>

namespace memscope {
namespace {

constexpr std::size_t kMostAncestors = 16;
constexpr pid_t kInit = 1;
constexpr std::uint64_t kWaitForReadingNs = 60'000'000'000;
// A sample reads up to 8,192 places of a process, so its standard error is below 0.6 %.
constexpr std::uint64_t kSampleError = 100;  // divisor of the anonymous memory: 1 %

template <class P>
P* find_process(std::span<P> processes, pid_t pid) {
    const auto found = std::ranges::lower_bound(processes, pid, {}, [](const Process& p) { return p.task.id.pid; });
    return found != processes.end() && found->task.id.pid == pid ? &*found : nullptr;
}

template <class P>
P* find_process(std::span<P> processes, const ProcessId& id) {
    P* found = find_process(processes, id.pid);
    return found && found->task.id == id ? found : nullptr;
}

bool is_forked(const Process& process) { return process.task.memory && process.task.forked_without_exec; }

const SharingReading* reading_of(const SharingReadings& readings, const ProcessId& id) {
    const auto found = readings.find(id);
    return found == readings.end() ? nullptr : &found->second;
}

Bytes sample_error(const PageSharing& pages) { return pages.pss ? Bytes{} : Bytes{pages.anonymous.n / kSampleError}; }

// Upper bound of the memory of `holder` that a child forked at `forked_ns` can share with it.
Bytes shareable(const Process& holder, const SharingReadings& readings, std::uint64_t forked_ns) {
    const Bytes all = holder.task.memory->anon;
    const SharingReading* reading = reading_of(readings, holder.task.id);
    // A fork in the middle of a reading shares pages that were read as private a moment before.
    if (!reading || !reading->pages || reading->began_ns <= forked_ns) return all;
    return std::min(all, reading->pages->shared_anon() + sample_error(*reading->pages));
}

}  // namespace

Bytes sum_own_anon(std::span<const Process> processes) {
    Bytes sum;
    for (const Process& process : processes) sum += process.own_anon();
    return sum;
}

void OwnMemory::fill(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
                     const CopiedSinceRead& copied_since_read) {
    follow(scan_began_ns, processes);
    if (!records_.empty()) {
        read(scan_began_ns, processes, readings, copied_since_read);
        count_orphaned_pages(processes, readings);
    }
    before_ns_ = scan_began_ns;
}

void OwnMemory::follow(std::uint64_t scan_began_ns, std::span<Process> processes) {
    std::erase_if(records_, [&](const auto& entry) {
        const Process* still = find_process(processes, entry.first);
        return !still || !is_forked(*still);
    });
    std::vector<const Process*> unknown;
    for (Process& process : processes) {
        process.inherited = {};
        process.orphaned = {};
        process.own_known = true;
        if (is_forked(process) && !records_.contains(process.task.id)) unknown.push_back(&process);
    }
    // Parents come before their children, because children take over the ancestors of their parent.
    std::ranges::sort(unknown, {}, [](const Process* process) { return process->task.id.start_ns; });
    for (const Process* process : unknown) {
        const TaskSample& task = process->task;
        Record record{.shared = task.memory->anon + task.memory->swap,
                      .first_ns = scan_began_ns,
                      .known = before_ns_ && task.id.start_ns >= *before_ns_};
        const Process* parent = find_process(processes, task.parent);
        if (parent && parent->task.memory && parent->task.id.start_ns <= task.id.start_ns) {
            const AddressSpace& had = *parent->task.memory;
            record.shared = std::min(record.shared, had.anon + had.swap);
            record.ancestors.push_back(parent->task.id);
            if (const auto of_parent = records_.find(parent->task.id); of_parent != records_.end())
                record.ancestors.insert(record.ancestors.end(), of_parent->second.ancestors.begin(),
                                        of_parent->second.ancestors.end());
            if (record.ancestors.size() > kMostAncestors) record.ancestors.resize(kMostAncestors);
        } else if (task.parent > kInit) {
            record.ancestors.push_back({task.parent, 0});  // siblings have the same entry
        } else {
            record.ancestors.push_back(task.id);  // init adopts every orphan: these are no siblings
        }
        records_.emplace(task.id, std::move(record));
    }
}

void OwnMemory::read(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
                     const CopiedSinceRead& copied_since_read) {
    std::set<pid_t> parents;  // pids of the parents of forked processes
    for (const Process& process : processes)
        if (is_forked(process)) parents.insert(process.task.parent);
    for (auto& [id, record] : records_) {
        Process& process = *find_process(processes, id);
        const AddressSpace& memory = *process.task.memory;
        if (scan_began_ns >= record.first_ns + kWaitForReadingNs) record.known = true;
        record.shared = std::min(record.shared, memory.anon + memory.swap);
        const SharingReading* reading = reading_of(readings, id);
        // If its pages cannot be read, a later reading will not be more exact.
        if (reading && !reading->pages) record.known = true;
        if (reading && reading->pages && reading->read_ns != record.read_ns) {
            const PageSharing& pages = *reading->pages;
            record.read_ns = reading->read_ns;
            record.known = true;
            // These figures include pages that it shares with its own children, so they are upper bounds. The values
            // from before the children were forked may be more precise.
            const bool has_children = parents.contains(id.pid);
            if (!has_children) record.sampled.reset();
            const Bytes most = pages.shared_anon() + sample_error(pages);
            if (pages.pss)
                record.shared = std::min(record.shared, most + memory.swap);
            else
                record.sampled = std::min(record.sampled.value_or(most), most);
        }
        const Bytes shared = std::min(record.shared, record.sampled.value_or(record.shared));
        process.inherited = std::min(shared, memory.anon) - copied_since_read(id);
        process.own_known = record.known;
    }
}

void OwnMemory::count_orphaned_pages(std::span<Process> processes, const SharingReadings& readings) const {
    struct Siblings {
        // Each with the bytes of its inherited pages that the holder does not have.
        std::vector<std::pair<Process*, Bytes>> members{};
        Bytes most{};  // the largest of these sizes, because the pages are mostly the same
        Bytes sum{};
    };
    std::map<ProcessId, Siblings> by_holder;
    for (const auto& [id, record] : records_) {
        Process& process = *find_process(processes, id);
        const Process* holder = nullptr;
        for (const ProcessId& ancestor : record.ancestors) {
            const Process* living = find_process(processes, ancestor);
            if (!living || living == &process || !living->task.memory) continue;
            holder = living;
            break;
        }
        Bytes inherited = process.inherited;
        // The upper bound of a sample is above the true value by up to twice its error.
        if (record.sampled) inherited = inherited - Bytes{2 * process.task.memory->anon.n / kSampleError};
        const Bytes orphaned = holder ? inherited - shareable(*holder, readings, id.start_ns) : inherited;
        if (orphaned.n == 0) continue;
        Siblings& siblings = by_holder[holder ? holder->task.id : record.ancestors.back()];
        siblings.members.emplace_back(&process, orphaned);
        siblings.most = std::max(siblings.most, orphaned);
        siblings.sum += orphaned;
    }
    for (const auto& [holder, siblings] : by_holder)
        for (const auto& [process, orphaned] : siblings.members) {
            const double part = static_cast<double>(orphaned.n) / static_cast<double>(siblings.sum.n);
            process->orphaned = {static_cast<std::uint64_t>(part * static_cast<double>(siblings.most.n))};
            process->inherited = process->inherited - process->orphaned;
        }
}

}  // namespace memscope
