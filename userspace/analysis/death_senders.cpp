#include "analysis/death_senders.h"

#include <algorithm>
#include <iterator>

namespace memscope {
namespace {

enum class Trade { runtime, scheduler, service_manager, oom_daemon };

struct Keeper {
    std::string_view comm;  // at most 15 bytes of it are kept by the kernel
    Trade trade;
    std::string_view who;
};

constexpr Keeper kKeepers[] = {
    {"runc", Trade::runtime, "the container runtime"},
    {"crun", Trade::runtime, "the container runtime"},
    {"youki", Trade::runtime, "the container runtime"},
    {"conmon", Trade::runtime, "the container runtime"},
    {"containerd", Trade::runtime, "the container runtime"},
    {"containerd-shim", Trade::runtime, "the container runtime"},
    {"dockerd", Trade::runtime, "Docker"},
    {"kubelet", Trade::runtime, "the kubelet"},
    {"slurmstepd", Trade::scheduler, "Slurm"},
    {"slurmd", Trade::scheduler, "Slurm"},
    {"pbs_mom", Trade::scheduler, "PBS"},
    {"sge_shepherd", Trade::scheduler, "Grid Engine"},
    {"condor_starter", Trade::scheduler, "HTCondor"},
    {"systemd", Trade::service_manager, "systemd"},
    {"systemd-oomd", Trade::oom_daemon, "systemd-oomd"},
    {"earlyoom", Trade::oom_daemon, "earlyoom"},
    {"nohang", Trade::oom_daemon, "nohang"},
    {"oomd", Trade::oom_daemon, "oomd"},
    {"bustd", Trade::oom_daemon, "bustd"},
};

// runc calls itself "runc:[2:INIT]" while it starts a container.
const Keeper* find(std::string_view comm) {
    const auto* found = std::ranges::find(kKeepers, comm.substr(0, comm.find(':')), &Keeper::comm);
    return found == std::end(kKeepers) ? nullptr : found;
}

}  // namespace

std::string keeper_of(std::string_view comm, std::string_view target) {
    const Keeper* keeper = find(comm);
    if (!keeper) return {};
    if (keeper->trade == Trade::runtime) {
        if (target.find("kubepods") != std::string_view::npos) return "the kubelet";
        if (target.find("docker") != std::string_view::npos) return "Docker";
        if (target.find("libpod") != std::string_view::npos) return "Podman";
    }
    return std::string(keeper->who);
}

bool kills_for_memory(std::string_view comm) {
    const Keeper* keeper = find(comm);
    return keeper && keeper->trade == Trade::oom_daemon;
}

bool keeps_from_inside(std::string_view comm) {
    const Keeper* keeper = find(comm);
    return keeper && keeper->trade == Trade::scheduler;
}

}  // namespace memscope
