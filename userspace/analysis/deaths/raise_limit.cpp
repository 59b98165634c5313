#include "analysis/deaths/raise_limit.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

// "docker-<64 hex digits>.scope", "<64 hex digits>"
bool is_container_id(std::string_view text) {
    constexpr std::size_t kLength = 64;
    return text.size() == kLength && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool is_unit(std::string_view name) {
    constexpr std::array<std::string_view, 3> kEnds{".service", ".scope", ".slice"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end) && name != end; });
}

std::string_view last_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

LimitFacts limit_facts(const TargetSnapshot& target) {
    LimitFacts facts{.cgroup_version = target.info.cgroup_version, .launched = target.info.kind == "command"};
    if (target.info.kind == "cgroup")
        facts.cgroup = target.info.name;
    else if (target.info.kind == "pid")
        facts.cgroup = target.memory.measured_at;
    if (facts.cgroup == "/") facts.cgroup.clear();
    return facts;
}

CgroupMaker maker_of(std::string_view cgroup) {
    const auto parts = split(cgroup, '/');
    const auto any = [&](const auto& matches) { return std::ranges::any_of(parts, matches); };
    // Kubernetes and Slurm are checked first, because the kubelet uses the container runtimes below, and Slurm can run
    // containers.
    if (any([](std::string_view part) { return part.starts_with("kubepods"); })) return CgroupMaker::kubernetes;
    if (any([](std::string_view part) {
            return part == "slurm" || part.starts_with("slurmstepd") || part.starts_with("slurm_");
        }))
        return CgroupMaker::slurm;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::string_view part = parts[i];
        if (part.ends_with(".scope")) part.remove_suffix(std::string_view(".scope").size());
        for (const auto& [prefix, maker] : {std::pair<std::string_view, CgroupMaker>{"docker-", CgroupMaker::docker},
                                            {"libpod-", CgroupMaker::podman}})
            if (part.starts_with(prefix) && is_container_id(part.substr(prefix.size()))) return maker;
        if (i > 0 && parts[i - 1] == "docker" && is_container_id(part)) return CgroupMaker::docker;
    }
    return is_unit(last_of(cgroup)) ? CgroupMaker::systemd : CgroupMaker::unknown;
}

std::string limit_setting(const LimitFacts& facts) {
    if (facts.launched) return "--memory-max of memscope";
    switch (maker_of(facts.cgroup)) {
        case CgroupMaker::slurm:
            return "--mem of sbatch or srun";
        case CgroupMaker::kubernetes:
            return "resources.limits.memory of the container in the pod";
        case CgroupMaker::docker:
            return "--memory of docker run, or docker update --memory";
        case CgroupMaker::podman:
            return "--memory of podman run, or podman update --memory";
        case CgroupMaker::systemd:
            return fmt::format("MemoryMax= of {}", printable(last_of(facts.cgroup)));
        case CgroupMaker::unknown:
            break;
    }
    const std::string_view file = facts.cgroup_version == 1 ? "memory.limit_in_bytes" : "memory.max";
    if (facts.cgroup.empty()) return fmt::format("{} of its cgroup", file);
    return fmt::format("{} of {}", file, printable(facts.cgroup));
}

std::string shm_setting(const LimitFacts& facts) {
    switch (maker_of(facts.cgroup)) {
        case CgroupMaker::kubernetes:
            return "mount an emptyDir with medium Memory and a larger sizeLimit there";
        case CgroupMaker::docker:
            return "--shm-size of docker run";
        case CgroupMaker::podman:
            return "--shm-size of podman run";
        case CgroupMaker::slurm:
        case CgroupMaker::systemd:
        case CgroupMaker::unknown:
            break;
    }
    return "mount -o remount,size=SIZE /dev/shm; in a container --shm-size";
}

}  // namespace memscope
