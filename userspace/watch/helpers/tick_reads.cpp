#include "watch/helpers/tick_reads.h"

#include <map>

#include "watch/helpers/read_jobs.h"

namespace memscope {
namespace {

// Reading /proc costs about 30 us a process: at most this many in a tick, the others in the next.
constexpr std::size_t kMostDetailsPerTick = 1000;
constexpr std::uint64_t kShmEveryNs = 5'000'000'000;

DetailsJob details_of(const TrackedProcess& process) { return {.id = process.task.id, .number = process.exec_count}; }

std::map<std::uint64_t, pid_t> mount_namespaces(const std::vector<Process>& processes) {
    std::map<std::uint64_t, pid_t> namespaces;
    for (const Process& process : processes)
        if (process.task.mount_namespace != 0)
            namespaces.try_emplace(process.task.mount_namespace, process.task.id.pid);
    return namespaces;
}

}  // namespace

bool read_details(ProcessReader& reader, ProcessTable& processes) {
    std::vector<TrackedProcess*> wanted;
    for (auto& [pid, process] : processes.living())
        if (process.details_wanted && wanted.size() < kMostDetailsPerTick) wanted.push_back(&process);
    for (const TrackedProcess* process : wanted) reader.submit(details_of(*process));
    bool all = wanted.size() < kMostDetailsPerTick;
    for (TrackedProcess* process : wanted) {
        auto details = reader.ask(details_of(*process));
        // A process that blocks its readers is asked again when it is left alone no longer.
        if (!details || (!*details && details->error().code == std::errc::timed_out)) {
            all = false;
            continue;
        }
        process->details_wanted = false;
        if (*details && **details) processes.set_details(*process, std::move((**details)->argv), (**details)->rank);
    }
    return all;
}

void read_shm(ProcessReader& reader, Target& target, const std::vector<Process>& processes, std::uint64_t now_ns) {
    if (target.shm_read_ns != 0 && now_ns - target.shm_read_ns < kShmEveryNs) return;
    if (target.shm_job.number == 0) {
        target.shm_job = {.namespaces = {}, .members = {}, .number = now_ns};
        for (const auto& [inode, pid] : mount_namespaces(processes)) {
            target.shm_job.namespaces.push_back(inode);
            target.shm_job.members.push_back(pid);
        }
    }
    const auto usage = reader.ask(target.shm_job);
    if (!usage) return;
    target.shm_job = {};
    target.shm = *usage ? **usage : std::nullopt;
    target.shm_read_ns = now_ns;
}

std::optional<NodeSet> read_nodes(ProcessReader& reader, pid_t pid, std::uint64_t number, const NodeSet& memory_nodes) {
    const NodesJob job{
        .pid = pid, .number = number, .memory_nodes = std::vector<int>(memory_nodes.begin(), memory_nodes.end())};
    const auto nodes = reader.ask(job);
    if (!nodes) return std::nullopt;
    return *nodes ? NodeSet((*nodes)->begin(), (*nodes)->end()) : NodeSet{};
}

}  // namespace memscope
