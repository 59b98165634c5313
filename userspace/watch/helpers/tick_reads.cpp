#include "watch/helpers/tick_reads.h"

#include "base/not_read.h"
#include "sources/proc/shm.h"

namespace memscope {
namespace {

// Reading /proc costs about 30 us per process: at most this many in a tick, the others in the next ticks.
constexpr std::size_t kMostDetailsPerTick = 1000;
constexpr std::uint64_t kShmEveryNs = 5'000'000'000;

DetailsJob details_of(const TrackedProcess& process) { return {.id = process.task.id, .number = process.exec_count}; }

}  // namespace

void DetailsReader::read(ProcessReader& reader, ProcessTable& processes) {
    if (complete_revision_ == processes.revision()) return;
    std::vector<TrackedProcess*> wanted;
    bool complete = true;
    for (auto& [pid, process] : processes.living()) {
        if (!process.details_wanted) continue;
        if (wanted.size() == kMostDetailsPerTick || reader.is_blocked(pid)) {
            complete = false;  // it is read later
            continue;
        }
        wanted.push_back(&process);
    }
    for (const TrackedProcess* process : wanted) reader.submit(details_of(*process));
    for (TrackedProcess* process : wanted) {
        auto details = reader.ask(details_of(*process));
        if (!details || (!*details && was_not_read(details->error()))) {
            complete = false;
            continue;
        }
        process->details_wanted = false;
        if (*details && **details) processes.set_details(*process, std::move((**details)->argv), (**details)->rank);
    }
    if (complete) complete_revision_ = processes.revision();
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
    else if (!was_not_read(usage->error()) && !std::exchange(reported_, true))
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
