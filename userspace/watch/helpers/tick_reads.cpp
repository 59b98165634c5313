#include "watch/helpers/tick_reads.h"

#include "base/result.h"
#include "sources/proc/shm.h"

namespace memscope {
namespace {

// Reading /proc costs about 30 us per process: at most this many in a tick, the others in the next ticks.
constexpr std::size_t kMostDetailsPerTick = 1000;
// Largest number of requests between two ticks. A build starts thousands of programs, and most of them end before the
// tick.
constexpr std::size_t kMostAskedEarly = 200;
constexpr std::uint64_t kShmEveryNs = 5'000'000'000;

DetailsJob details_of(const TrackedProcess& process) { return {.id = process.task.id, .number = process.exec_count}; }

}  // namespace

void DetailsReader::executed(ProcessReader& reader, const ProcessId& id, const ProcessTable& processes) {
    const auto found = processes.living().find(id.pid);
    if (asked_early_ == kMostAskedEarly || found == processes.living().end()) return;
    ++asked_early_;
    asked_.push_back(details_of(found->second));
    reader.submit(asked_.back());
}

void DetailsReader::read(ProcessReader& reader, ProcessTable& processes) {
    asked_early_ = 0;
    if (complete_revision_ == processes.revision()) return;
    asked_.clear();
    bool complete = true;
    for (const auto& [pid, process] : processes.living()) {
        if (!process.details_wanted) continue;
        if (asked_.size() == kMostDetailsPerTick || reader.is_blocked(pid)) {
            complete = false;  // the process is read later
            continue;
        }
        asked_.push_back(details_of(process));
        reader.submit(asked_.back());
    }
    std::erase_if(asked_, [&](const DetailsJob& job) {
        const Taken taken = take(reader, job, processes);
        if (taken == Taken::yes) return true;
        complete = false;
        return taken == Taken::not_read;
    });
    if (complete) complete_revision_ = processes.revision();
}

void DetailsReader::take_answers(ProcessReader& reader, ProcessTable& processes) {
    while (!asked_.empty() && take(reader, asked_.front(), processes) != Taken::not_yet) asked_.pop_front();
}

DetailsReader::Taken DetailsReader::take(ProcessReader& reader, const DetailsJob& job, ProcessTable& processes) {
    auto details = reader.ask(job);
    if (!details) return Taken::not_yet;
    if (!*details && is_retryable(details->error())) return Taken::not_read;
    const auto found = processes.living().find(job.id.pid);
    if (found == processes.living().end()) return Taken::yes;
    TrackedProcess& process = found->second;
    if (!process.details_wanted || details_of(process) != job) return Taken::yes;  // another program runs in it now
    process.details_wanted = false;
    if (*details && **details) processes.set_details(process, std::move((**details)->argv), (**details)->rank);
    return Taken::yes;
}

const std::optional<ShmUsage>& ShmUsageReader::read(ProcessReader& reader, const std::vector<Process>& processes,
                                                    std::uint64_t now_ns) {
    if (read_ns_ != 0 && now_ns - read_ns_ < kShmEveryNs) return usage_;
    if (job_.number == 0) {
        job_ = {.namespaces = {}, .members = {}, .number = now_ns};
        for (const auto& [inode, pid] : mount_namespaces(processes)) {
            job_.namespaces.push_back(inode);
            job_.members.push_back(pid);
        }
    }
    const auto usage = reader.ask(job_);
    if (!usage) return usage_;
    job_ = {};
    usage_ = *usage ? **usage : std::nullopt;
    read_ns_ = now_ns;
    if (*usage)
        reported_ = false;
    else if (!is_retryable(usage->error()) && !std::exchange(reported_, true))
        trouble_ = usage->error();
    return usage_;
}

std::optional<NodeSet> read_nodes(ProcessReader& reader, pid_t pid, std::uint64_t number, const NodeSet& memory_nodes) {
    const NodesJob job{
        .pid = pid, .number = number, .memory_nodes = std::vector<int>(memory_nodes.begin(), memory_nodes.end())};
    const auto nodes = reader.ask(job);
    if (!nodes) return std::nullopt;
    return *nodes ? NodeSet((*nodes)->begin(), (*nodes)->end()) : NodeSet{};
}

}  // namespace memscope
