#include "watch/deaths/death_recorder.h"

#include <algorithm>
#include <set>

#include "analysis/deaths/death_sentence.h"
#include "analysis/gpu/gpu_join.h"

namespace memscope {
namespace {

constexpr std::size_t kMostSeen = 4096;
constexpr std::size_t kMostLines = 1024;
constexpr std::uint64_t kLineExplainsNs = 60'000'000'000;  // pids are reused, so an old line may be of another process
// Longer than any process manager waits between SIGTERM and SIGKILL. If a process outlives the root of its tree by more
// than this, its death is not part of the teardown of the tree.
constexpr std::uint64_t kTeardownNs = 120'000'000'000;
constexpr double kHostShort = 0.05;  // share of the machine's memory that is available
constexpr std::size_t kMostNamespaces = 16;

bool is_short(const HostMemory& host) {
    return host.total.n > 0 && static_cast<double>(host.available.n) < kHostShort * static_cast<double>(host.total.n);
}

// One process of each mount namespace of the target, at most kMostNamespaces.
std::vector<pid_t> namespace_members(const ProcessTable& processes, const Nesting& nesting, CgroupId target) {
    std::set<std::uint64_t> seen;
    std::vector<pid_t> members;
    for (const auto& [pid, process] : processes.living()) {
        const auto around = nesting.around(process.task.target);
        if (std::ranges::find(around, target) == around.end()) continue;
        if (seen.insert(process.task.mount_namespace).second) members.push_back(pid);
        if (members.size() == kMostNamespaces) break;
    }
    return members;
}

using Surroundings = DeathRecorder::Surroundings;

// Sets the name of the cgroup that owns the limit: "own" for the target itself, or the path of another cgroup if that
// cgroup still exists.
void name_owner(Death& death, const DeathEvidence& evidence, const TargetState& target, const Surroundings& around) {
    OomKill& oom = *death.oom;
    const std::string& near = target.info.name;
    const auto path_of = [&](CgroupId id) {
        return around.lookups.cgroup_path ? around.lookups.cgroup_path(id, near) : std::nullopt;
    };
    if (evidence.oom && oom.constraint == OomConstraint::cgroup && evidence.oom->owner.id != kNoCgroup) {
        if (evidence.oom->owner.id == target.id)
            oom.limit_owner = "own";
        else if (auto path = path_of(evidence.oom->owner.id))
            oom.limit_owner = path->empty() ? "/" : *path;
    }
    if (!near.empty() && oom.limit_owner == near) oom.limit_owner = "own";
    if (evidence.oom)
        if (auto path = path_of(evidence.oom->cgroup.id)) oom.victim_cgroup = *path;
    if (oom.constraint == OomConstraint::host && around.host.total.n > 0) {
        oom.limit = around.host.total;
        oom.usage = around.host.total - around.host.available;
    }
}

// Lists every process that holds memory of the device, because processes of other jobs use it up too.
void describe_gpu(Death& death, const DeathEvidence& evidence, const Surroundings& around) {
    constexpr std::size_t kMostHolders = 16;
    GpuShortage& shortage = *death.gpu;
    const std::uint64_t failed_ns = evidence.cuda_failure->time_ns;
    const auto sample = around.lookups.gpus ? around.lookups.gpus(failed_ns, evidence.time_ns) : NvmlPoller::Sample{};
    shortage.gpu = device_of(evidence.cuda_failure->device, evidence.id.pid, sample.devices);
    const auto device = std::ranges::find(sample.devices, shortage.gpu, &GpuDevice::id);
    if (device == sample.devices.end()) return;
    shortage.index = device->index;
    shortage.total = device->total;
    shortage.free = device->free;
    if (shortage.free || device->knows_holders)
        shortage.read_after = Seconds((static_cast<double>(sample.taken_ns) - static_cast<double>(failed_ns)) * 1e-9);
    for (const GpuHolder& holder : device->holders) shortage.holders.push_back({{holder.pid, ""}, holder.used});
    std::ranges::stable_sort(shortage.holders, std::greater{}, &GpuShortage::Holder::used);
    if (shortage.holders.size() > kMostHolders) shortage.holders.resize(kMostHolders);
    for (GpuShortage::Holder& holder : shortage.holders) {
        const auto known = around.processes.living().find(holder.process.pid);
        if (known != around.processes.living().end())
            holder.process.comm = known->second.task.comm;
        else if (holder.process.pid == evidence.id.pid)
            holder.process.comm = evidence.comm;
        else if (around.lookups.comm)
            holder.process.comm = around.lookups.comm(holder.process.pid).value_or("");
    }
}

void look_up_places(Death& death, const DeathEvidence& evidence, const TargetState& target,
                    const Surroundings& around) {
    const auto find = [&](std::uint32_t device) {
        const auto& mount_point = around.lookups.mount_point;
        return mount_point
                   ? mount_point(device, namespace_members(around.processes, around.targets.nesting(), target.id))
                   : std::string();
    };
    if (death.mapping && evidence.bus) death.mapping->mount = find(evidence.bus->place.device);
    if (death.allocation && death.allocation->file)
        death.allocation->file->mount = find(evidence.failure->place->device);
    if (death.oom) name_owner(death, evidence, target, around);
    if (death.gpu) describe_gpu(death, evidence, around);
}

}  // namespace

void DeathRecorder::exited(const Exited& event, const ProcessTable& processes) {
    const auto found = processes.living().find(event.id.pid);
    if (found == processes.living().end() || found->second.root != event.id) return;  // most processes are no root
    const auto known = ending_.try_emplace(event.id, event.time_ns).first;
    known->second = std::min(known->second, event.time_ns);
}

void DeathRecorder::take(DeathEvidence evidence) {
    if (std::ranges::find(seen_, evidence.id) != seen_.end()) return;
    seen_.push_back(evidence.id);
    if (seen_.size() > kMostSeen) seen_.pop_front();
    if (evidence.kill) {
        const auto known = ending_.try_emplace(evidence.id, evidence.kill->time_ns).first;
        known->second = std::min(known->second, evidence.kill->time_ns);
    }
    const SentSignal* sent = deadly_signal(evidence);
    const auto death = decide_death(evidence, {.sender_in_tree = sent && sent->sender_target == evidence.target});
    has_news_ = has_news_ || (death && death->news);
    undecided_.push_back(std::move(evidence));
}

void DeathRecorder::read_log(const DeathLookups& lookups, std::uint64_t now_ns) {
    if (lookups.kernel_log)
        for (LoggedOomKill& kill : lookups.kernel_log()) lines_.push_back({now_ns, std::move(kill)});
    while (!lines_.empty() && (lines_.size() > kMostLines || now_ns - lines_.front().read_ns > kLineExplainsNs))
        lines_.pop_front();
}

// The latest line about the process, or about the thread of the process that the OOM killer named.
const LoggedOomKill* DeathRecorder::logged(const DeathEvidence& evidence) const {
    const auto found = std::find_if(lines_.rbegin(), lines_.rend(), [&](const Line& line) {
        return line.kill.thread == evidence.id.pid || (evidence.oom && line.kill.thread == evidence.oom->thread);
    });
    return found == lines_.rend() ? nullptr : &found->kill;
}

std::optional<std::uint64_t> DeathRecorder::root_ending(const DeathEvidence& evidence,
                                                        const TrackedProcess* process) const {
    if (!process || process->root == evidence.id) return std::nullopt;
    const auto ending = ending_.find(process->root);
    if (ending == ending_.end() || evidence.time_ns - ending->second > kTeardownNs) return std::nullopt;
    return ending->second;
}

void DeathRecorder::settle_one(const DeathEvidence& evidence, const TrackedProcess* process,
                               const Surroundings& around) {
    const SentSignal* sent = deadly_signal(evidence);
    const auto of_sender = sent ? around.targets.around(sent->sender_target) : std::vector<TargetState*>{};
    for (TargetState* target : around.targets.around(evidence.target)) {
        DeathScene scene{.target = target->info.name,
                         .sender_in_tree = std::ranges::find(of_sender, target) != of_sender.end(),
                         .root_ending_ns = root_ending(evidence, process),
                         .logged = logged(evidence),
                         .host_short = is_short(around.host),
                         .memory = process ? process->task.memory : std::nullopt};
        auto death = decide_death(evidence, scene);
        if (!death) return;
        death->time = around.now.to_unix(evidence.time_ns);
        if (process) {
            death->role = process->role;
            if (process->folded_rank) death->role.rank = process->folded_rank;
            death->command = command_line(*process);
            death->parent = process->task.parent;
        }
        look_up_places(*death, evidence, *target, around);
        death->explanation = death_sentence(*death);
        target->deaths.add(*std::move(death));
    }
}

void DeathRecorder::settle(const Surroundings& around) {
    read_log(around.lookups, around.now.boot_ns);
    if (undecided_.empty()) return;
    std::map<ProcessId, const TrackedProcess*> known;
    for (const DeathEvidence& evidence : undecided_) known.try_emplace(evidence.id, nullptr);
    const auto note = [&](const TrackedProcess& process) {
        if (const auto found = known.find(process.task.id); found != known.end()) found->second = &process;
    };
    for (const TrackedProcess& process : around.processes.ended()) note(process);
    for (const auto& [pid, process] : around.processes.living()) note(process);  // its exit event may have been lost
    std::ranges::sort(undecided_, {}, &DeathEvidence::time_ns);
    for (const DeathEvidence& evidence : undecided_) settle_one(evidence, known[evidence.id], around);
    undecided_.clear();
}

void DeathRecorder::sweep(const ProcessTable& processes) {
    has_news_ = false;
    if (ending_.empty()) return;
    std::set<ProcessId> roots;
    for (const auto& [pid, process] : processes.living())
        if (process.root != process.task.id) roots.insert(process.root);
    std::erase_if(ending_, [&](const auto& entry) { return !roots.contains(entry.first); });
}

}  // namespace memscope
