#include "watch/deaths/death_recorder.h"

#include <algorithm>

#include "analysis/deaths/explain_death.h"
#include "analysis/gpu/gpu_join.h"
#include "base/text.h"
#include "sources/cgroup/cgroup_by_id.h"
#include "sources/proc/mountinfo.h"

namespace memscope {
namespace {

constexpr std::size_t kMostSettled = 4096;
constexpr std::size_t kMostLines = 1024;
constexpr std::uint64_t kLineExplainsNs = 60'000'000'000;  // a pid comes round again some day
// Who outlives the root of its tree by more than any manager waits before it kills is a tree of its own.
constexpr std::uint64_t kTeardownNs = 120'000'000'000;
constexpr double kHostShort = 0.05;  // of the machine's memory available
constexpr std::size_t kMostNamespaces = 16;

bool is_short(const HostMemory& host) {
    return host.total.n > 0 && static_cast<double>(host.available.n) < kHostShort * static_cast<double>(host.total.n);
}

// A process of each mount namespace of the target, a few of them.
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

}  // namespace

DeathRecorder::DeathRecorder(SysRoot root, CgroupHierarchy hierarchy)
    : root_(std::move(root)), hierarchy_(std::move(hierarchy)) {
    if (auto log = KernelLog::open(root_)) log_ = std::move(*log);
}

void DeathRecorder::exited(const Exited& event, const ProcessTable& processes) {
    const auto found = processes.living().find(event.id.pid);
    if (found == processes.living().end() || found->second.root != event.id) return;  // as most in a storm
    const auto known = ending_.try_emplace(event.id, event.time_ns).first;
    known->second = std::min(known->second, event.time_ns);
}

void DeathRecorder::take(LastWords words) {
    if (std::ranges::find(settled_, words.id) != settled_.end()) return;
    settled_.push_back(words.id);
    if (settled_.size() > kMostSettled) settled_.pop_front();
    if (words.kill) {
        const auto known = ending_.try_emplace(words.id, words.kill->time_ns).first;
        known->second = std::min(known->second, words.kill->time_ns);
    }
    const SentSignal* sent = deadly_signal(words);
    const auto death = decide_death(words, {.sender_in_tree = sent && sent->sender_target == words.target});
    news_waits_ = news_waits_ || (death && death->news);
    waiting_.push_back(std::move(words));
}

void DeathRecorder::read_log(std::uint64_t now_ns) {
    if (!log_) return;
    log_->take([&](const LoggedOomKill& kill) { lines_.push_back({now_ns, kill}); });
    while (!lines_.empty() && (lines_.size() > kMostLines || now_ns - lines_.front().read_ns > kLineExplainsNs))
        lines_.pop_front();
}

// The latest line on the process, or on the thread of it that the OOM killer named.
const LoggedOomKill* DeathRecorder::logged(const LastWords& words) const {
    const auto found = std::find_if(lines_.rbegin(), lines_.rend(), [&](const Line& line) {
        return line.kill.thread == words.id.pid || (words.oom && line.kill.thread == words.oom->thread);
    });
    return found == lines_.rend() ? nullptr : &found->kill;
}

std::optional<std::uint64_t> DeathRecorder::root_ending(const LastWords& words, const TrackedProcess* process) const {
    if (!process || process->root == words.id) return std::nullopt;
    const auto ending = ending_.find(process->root);
    if (ending == ending_.end() || words.time_ns - ending->second > kTeardownNs) return std::nullopt;
    return ending->second;
}

// Whose limit it was: the target's own, or another cgroup by its path while it stands.
void DeathRecorder::name_owner(Death& death, const LastWords& words, CgroupId target,
                               const Surroundings& around) const {
    OomKill& oom = *death.oom;
    const auto info = around.targets.find(target);
    const std::string near = info == around.targets.end() ? std::string() : info->second.name;
    if (words.oom && oom.constraint == OomConstraint::cgroup && words.oom->owner.id != kNoCgroup) {
        if (words.oom->owner.id == target)
            oom.limit_owner = "own";
        else if (auto path = cgroup_path_of(hierarchy_, words.oom->owner.id, near))
            oom.limit_owner = path->empty() ? "/" : *path;
    }
    if (!near.empty() && oom.limit_owner == near) oom.limit_owner = "own";
    if (words.oom)
        if (auto path = cgroup_path_of(hierarchy_, words.oom->cgroup.id, near)) oom.victim_cgroup = *path;
    if (oom.constraint == OomConstraint::host && around.host.total.n > 0) {
        oom.limit = around.host.total;
        oom.usage = around.host.total - around.host.available;
    }
}

// Lists every process that holds memory of the device: also those of other jobs make it short.
void DeathRecorder::describe_gpu(Death& death, const LastWords& words, const Surroundings& around) const {
    constexpr std::size_t kMostHolders = 16;
    GpuShortage& shortage = *death.gpu;
    const std::uint64_t failed_ns = words.gpu_failure->time_ns;
    const auto sample = around.gpus ? around.gpus(failed_ns, words.time_ns) : NvmlPoller::Sample{};
    shortage.gpu = device_of(words.gpu_failure->device, words.id.pid, sample.devices);
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
        else if (holder.process.pid == words.id.pid)
            holder.process.comm = words.comm;
        else if (const auto comm = read_file(root_.proc / std::to_string(holder.process.pid) / "comm", 64))
            holder.process.comm = trimmed(*comm);
    }
}

void DeathRecorder::find_places(Death& death, const LastWords& words, CgroupId target,
                                const Surroundings& around) const {
    const auto find = [&](std::uint32_t device) {
        return mount_of_device(root_, device, namespace_members(around.processes, around.nesting, target));
    };
    if (death.mapping && words.bus) death.mapping->mount = find(words.bus->place.device);
    if (death.allocation && death.allocation->file) death.allocation->file->mount = find(words.failure->place->device);
    if (death.oom) name_owner(death, words, target, around);
    if (death.gpu) describe_gpu(death, words, around);
}

void DeathRecorder::settle_one(const LastWords& words, const TrackedProcess* process, const Surroundings& around) {
    const SentSignal* sent = deadly_signal(words);
    const auto of_sender = sent ? around.nesting.around(sent->sender_target) : std::vector<CgroupId>{};
    for (const CgroupId target : around.nesting.around(words.target)) {
        const auto info = around.targets.find(target);
        DeathScene scene{.target = info == around.targets.end() ? std::string_view() : info->second.name,
                         .sender_in_tree = std::ranges::find(of_sender, target) != of_sender.end(),
                         .root_ending_ns = root_ending(words, process),
                         .logged = logged(words),
                         .host_short = is_short(around.host),
                         .memory = process ? process->task.memory : std::nullopt};
        auto death = decide_death(words, scene);
        if (!death) return;
        death->time = around.now.to_unix(words.time_ns);
        if (process) {
            death->role = process->role;
            if (process->folded_rank) death->role.rank = process->folded_rank;
            death->command = process->command;
            death->parent = process->task.parent;
        }
        find_places(*death, words, target, around);
        death->explanation = explain_death(*death);
        Books& books = books_[target];
        books.tally.add(*death);
        if (death->news) books.last = *death;
        books.news.push_back(std::move(*death));
    }
}

void DeathRecorder::settle(const Surroundings& around) {
    read_log(around.now.boot_ns);
    if (waiting_.empty()) return;
    std::map<ProcessId, const TrackedProcess*> known;
    for (const LastWords& words : waiting_) known.try_emplace(words.id, nullptr);
    const auto meet = [&](const TrackedProcess& process) {
        if (const auto found = known.find(process.task.id); found != known.end()) found->second = &process;
    };
    for (const TrackedProcess& process : around.processes.ended()) meet(process);
    for (const auto& [pid, process] : around.processes.living()) meet(process);  // whose exit event was lost
    std::ranges::sort(waiting_, {}, &LastWords::time_ns);
    for (const LastWords& words : waiting_) settle_one(words, known[words.id], around);
    waiting_.clear();
    news_waits_ = false;
}

void DeathRecorder::hand_over(CgroupId target, TargetSnapshot& out) {
    const auto found = books_.find(target);
    if (found == books_.end()) return;
    Books& books = found->second;
    out.deaths = std::exchange(books.news, {});
    out.death_tally = books.tally;
    out.last_death = books.last;
}

void DeathRecorder::forget(CgroupId target) { books_.erase(target); }

void DeathRecorder::sweep(const ProcessTable& processes) {
    if (ending_.empty()) return;
    std::set<ProcessId> roots;
    for (const auto& [pid, process] : processes.living())
        if (process.root != process.task.id) roots.insert(process.root);
    std::erase_if(ending_, [&](const auto& entry) { return !roots.contains(entry.first); });
}

}  // namespace memscope
