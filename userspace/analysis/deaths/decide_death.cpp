#include "analysis/deaths/decide_death.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <iterator>
#include <linux/magic.h>

#include "model/growth/mappings.h"
#include <memscope/shared/deaths.h>

namespace memscope {
namespace {

enum class ManagerKind { runtime, scheduler, service_manager, oom_daemon };

struct ProcessManager {
    std::string_view comm;  // the kernel keeps at most 15 bytes
    ManagerKind kind;
    std::string_view name;
};

constexpr ProcessManager kProcessManagers[] = {
    {"runc", ManagerKind::runtime, "the container runtime"},
    {"crun", ManagerKind::runtime, "the container runtime"},
    {"youki", ManagerKind::runtime, "the container runtime"},
    {"conmon", ManagerKind::runtime, "the container runtime"},
    {"containerd", ManagerKind::runtime, "the container runtime"},
    {"containerd-shim", ManagerKind::runtime, "the container runtime"},
    {"dockerd", ManagerKind::runtime, "Docker"},
    {"kubelet", ManagerKind::runtime, "the kubelet"},
    {"slurmstepd", ManagerKind::scheduler, "Slurm"},
    {"slurmd", ManagerKind::scheduler, "Slurm"},
    {"pbs_mom", ManagerKind::scheduler, "PBS"},
    {"sge_shepherd", ManagerKind::scheduler, "Grid Engine"},
    {"condor_starter", ManagerKind::scheduler, "HTCondor"},
    {"systemd", ManagerKind::service_manager, "systemd"},
    {"systemd-oomd", ManagerKind::oom_daemon, "systemd-oomd"},
    {"earlyoom", ManagerKind::oom_daemon, "earlyoom"},
    {"nohang", ManagerKind::oom_daemon, "nohang"},
    {"oomd", ManagerKind::oom_daemon, "oomd"},
    {"bustd", ManagerKind::oom_daemon, "bustd"},
};

// runc calls itself "runc:[2:INIT]" while it starts a container.
const ProcessManager* find(std::string_view comm) {
    const auto* found = std::ranges::find(kProcessManagers, comm.substr(0, comm.find(':')), &ProcessManager::comm);
    return found == std::end(kProcessManagers) ? nullptr : found;
}

}  // namespace

std::string process_manager_of(std::string_view comm, std::string_view target) {
    const ProcessManager* manager = find(comm);
    if (!manager) return {};
    if (manager->kind == ManagerKind::runtime) {
        if (target.find("kubepods") != std::string_view::npos) return "the kubelet";
        if (target.find("docker") != std::string_view::npos) return "Docker";
        if (target.find("libpod") != std::string_view::npos) return "Podman";
    }
    return std::string(manager->name);
}

bool kills_for_memory(std::string_view comm) {
    const ProcessManager* manager = find(comm);
    return manager && manager->kind == ManagerKind::oom_daemon;
}

bool is_manager_inside(std::string_view comm) {
    const ProcessManager* manager = find(comm);
    return manager && manager->kind == ManagerKind::scheduler;
}

std::string file_system_name(std::uint64_t magic) {
    switch (magic) {
        case TMPFS_MAGIC:
            return "tmpfs";
        case HUGETLBFS_MAGIC:
            return "hugetlbfs";
        case EXT4_SUPER_MAGIC:
            return "ext4";
        case XFS_SUPER_MAGIC:
            return "xfs";
        case BTRFS_SUPER_MAGIC:
            return "btrfs";
        case OVERLAYFS_SUPER_MAGIC:
            return "overlay";
        case NFS_SUPER_MAGIC:
            return "nfs";
        default:
            return fmt::format("{:#x}", magic);
    }
}

namespace {

int signal_of(int exit_code) { return exit_code & 0x7F; }
int status_of(int exit_code) { return (exit_code >> 8) & 0xFF; }

// Signals with which users and programs normally end a job. They are not reported, because nothing has gone wrong.
bool asks_to_end(int signal) {
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGPIPE || signal == SIGTERM;
}

// Signals with which a program ends after a failed allocation: SIGABRT if it checks for the failure, SIGSEGV if it does
// not.
bool gives_up_with(int signal) { return signal == SIGABRT || signal == SIGSEGV; }

bool is_from_itself(const SentSignal& sent, const DeathEvidence& evidence) {
    return sent.sender.pid == evidence.id.pid;
}

// True if a process caused the signal. A signal that the kernel sends because another process exits counts as sent by
// that process.
bool is_from_a_process(const SentSignal& sent, const DeathEvidence& evidence) {
    return !sent.by_kernel || (sent.at_exit && !is_from_itself(sent, evidence));
}

bool is_oom_kill(const DeathEvidence& evidence, const DeathScene& scene) {
    if (signal_of(evidence.exit_code) != SIGKILL) return false;
    const auto& kill = evidence.kill;
    if (!kill) return (evidence.oom && evidence.oom->chosen) || scene.logged;
    if (!kill->by_kernel) return false;
    if (kill->with_victim) return true;
    // The OOM killer also marks processes that are already exiting. It is the cause of death only if the SIGKILL came
    // from the same allocating thread.
    if (evidence.oom && evidence.oom->chosen) return evidence.oom->trigger.pid == kill->sender.pid;
    if (kill->at_exit) return false;
    return scene.logged || (evidence.oom && evidence.oom->owner.id != kNoCgroup);
}

bool is_explained_by_failure_at(std::uint64_t failed_ns, const DeathEvidence& evidence) {
    if (evidence.time_ns < failed_ns || evidence.time_ns - failed_ns >= MS_FAILURE_EXPLAINS_NS) return false;
    const int signal = signal_of(evidence.exit_code);
    if (signal == 0) return status_of(evidence.exit_code) != 0;
    const SentSignal* sent = deadly_signal(evidence);
    return gives_up_with(signal) && (!sent || is_from_itself(*sent, evidence) || sent->by_kernel);
}

// Time of the failure if it explains the exit, else 0.
template <class Failure>
std::uint64_t explaining_time(const std::optional<Failure>& failure, const DeathEvidence& evidence) {
    return failure && is_explained_by_failure_at(failure->time_ns, evidence) ? failure->time_ns : 0;
}

// If an allocation of GPU memory and one of host memory failed, the later failure is the cause.
std::optional<DeathCause> failed_cause_of(const DeathEvidence& evidence) {
    const bool of_gpu = evidence.cuda_failure && is_explained_by_failure_at(evidence.cuda_failure->time_ns, evidence);
    const std::uint64_t of_host_ns =
        std::max(explaining_time(evidence.failure, evidence), explaining_time(evidence.host_failure, evidence));
    const bool of_host = of_host_ns > 0;
    if (of_gpu && evidence.cuda_failure->time_ns >= of_host_ns) return DeathCause::cuda_oom;
    return of_host ? std::optional(DeathCause::alloc_failed) : std::nullopt;
}

std::optional<DeathCause> cause_of(const DeathEvidence& evidence, const DeathScene& scene) {
    if (is_oom_kill(evidence, scene)) return DeathCause::oom_kill;
    const int signal = signal_of(evidence.exit_code);
    if (signal == SIGKILL) return DeathCause::sigkill;
    if (signal == SIGBUS) return DeathCause::sigbus;
    if (const auto failed = failed_cause_of(evidence)) return failed;
    if (signal == 0) return std::nullopt;
    const SentSignal* sent = deadly_signal(evidence);
    if (asks_to_end(signal) && !(sent && is_from_a_process(*sent, evidence) && kills_for_memory(sent->sender.comm)))
        return std::nullopt;
    return DeathCause::signal;
}

DeathSender sender_of(const DeathEvidence& evidence, const DeathScene& scene) {
    const SentSignal* sent = deadly_signal(evidence);
    if (!sent) return DeathSender::none;
    if (!is_from_a_process(*sent, evidence)) return DeathSender::kernel;
    if (is_from_itself(*sent, evidence))
        return signal_of(evidence.exit_code) == SIGKILL ? DeathSender::tree : DeathSender::none;
    if (scene.root_ending_ns && *scene.root_ending_ns <= sent->time_ns) return DeathSender::tree;
    if (scene.sender_in_tree && !is_manager_inside(sent->sender.comm)) return DeathSender::tree;
    return DeathSender::outside;
}

// Prefers the kernel log. Without it, infers the constraint from which limit was exhausted.
OomConstraint constraint_of(const DeathEvidence& evidence, const DeathScene& scene) {
    if (scene.logged && scene.logged->constraint != OomConstraint::unknown) return scene.logged->constraint;
    if (evidence.oom && evidence.oom->owner.id != kNoCgroup) return OomConstraint::cgroup;
    return scene.host_short ? OomConstraint::host : OomConstraint::unknown;
}

OomKill oom_kill_of(const DeathEvidence& evidence, const DeathScene& scene) {
    OomKill oom{.constraint = constraint_of(evidence, scene), .marked = !(evidence.kill && evidence.kill->with_victim)};
    if (scene.logged) {
        oom.limit_owner = scene.logged->limit_owner;
        oom.victim_cgroup = scene.logged->victim_cgroup;
    }
    if (oom.constraint == OomConstraint::host) oom.limit_owner = "host";
    if (!evidence.oom) return oom;
    if (oom.constraint == OomConstraint::cgroup && evidence.oom->owner.id != kNoCgroup) {
        if (oom.limit_owner.empty()) oom.limit_owner = evidence.oom->owner.name;
        oom.limit = evidence.oom->limit;
        oom.usage = evidence.oom->usage;
    }
    if (oom.victim_cgroup.empty()) oom.victim_cgroup = evidence.oom->cgroup.name;
    oom.trigger = evidence.oom->trigger;
    oom.whole_cgroup = evidence.oom->whole_cgroup;
    return oom;
}

// PyTorch reports a failed allocation after the system call has failed. A size that is too large for the address space
// fails without a system call.
FailedAllocation allocation_of(const DeathEvidence& evidence) {
    FailedAllocation failed;
    if (const std::uint64_t at = explaining_time(evidence.host_failure, evidence)) {
        failed.tensor = evidence.host_failure->size;
        failed.before_exit = std::chrono::nanoseconds(evidence.time_ns - at);
    }
    if (explaining_time(evidence.failure, evidence) == 0) return failed;
    const LastFailure& failure = *evidence.failure;
    failed.call = failed_call(failure.call);
    failed.reason = failure_reason(failure.reason);
    if (!failed.tensor) failed.before_exit = std::chrono::nanoseconds(evidence.time_ns - failure.time_ns);
    if (failure.size.n > 0) failed.size = failure.size;
    if (failure.place) failed.file = FullFile{.name = {}, .file_system = file_system_name(failure.place->magic)};
    return failed;
}

GpuShortage shortage_of(const DeathEvidence& evidence) {
    const CudaFailure& failure = *evidence.cuda_failure;
    GpuShortage shortage{.size = failure.size,
                         .of_host = failure.of_host,
                         .before_exit = std::chrono::nanoseconds(evidence.time_ns - failure.time_ns),
                         .reserved = failure.reserved};
    if (failure.device) shortage.gpu = gpu_id(*failure.device);
    return shortage;
}

void describe_sender(Death& death, const DeathEvidence& evidence, const DeathScene& scene) {
    death.sender = sender_of(evidence, scene);
    const SentSignal* sent = deadly_signal(evidence);
    if (!sent || !is_from_a_process(*sent, evidence) || death.sender == DeathSender::none) return;
    death.sent_by = sent->sender;
    if (death.sender == DeathSender::outside) death.sent_for = process_manager_of(sent->sender.comm, scene.target);
}

}  // namespace

const SentSignal* deadly_signal(const DeathEvidence& evidence) {
    const int signal = signal_of(evidence.exit_code);
    const auto& sent = signal == SIGKILL ? evidence.kill : evidence.other;
    return sent && sent->number == signal ? &*sent : nullptr;
}

std::optional<Death> decide_death(const DeathEvidence& evidence, const DeathScene& scene) {
    const auto cause = cause_of(evidence, scene);
    if (!cause) return std::nullopt;
    Death death{.id = evidence.id, .parent = evidence.parent, .comm = evidence.comm, .cause = *cause};
    if (const int signal = signal_of(evidence.exit_code))
        death.signal = signal;
    else
        death.exit_status = status_of(evidence.exit_code);
    death.memory = scene.memory;
    if (scene.memory) death.rss_anon = scene.memory->anon;
    if (*cause == DeathCause::oom_kill) {
        death.sender = DeathSender::kernel;
        death.oom = oom_kill_of(evidence, scene);
        if (evidence.oom && evidence.oom->anon.n > 0) death.rss_anon = evidence.oom->anon;
        return death;
    }
    if (*cause == DeathCause::alloc_failed) {
        death.allocation = allocation_of(evidence);
        return death;
    }
    if (*cause == DeathCause::cuda_oom) {
        death.gpu = shortage_of(evidence);
        return death;
    }
    describe_sender(death, evidence, scene);
    if (*cause == DeathCause::sigbus && evidence.bus)
        death.mapping =
            FullFile{.name = evidence.bus->name, .file_system = file_system_name(evidence.bus->place.magic)};
    death.news = death.sender != DeathSender::tree;
    return death;
}

}  // namespace memscope
