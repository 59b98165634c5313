#pragma once
#include <string>
#include <string_view>

#include "model/snapshot.h"

namespace memscope {

// The facts that decide how a user changes the limits of a job.
struct LimitFacts {
    int cgroup_version = 2;
    std::string cgroup{};   // path below the hierarchy; "": not known, or the root
    bool launched = false;  // memscope has started the job in a cgroup of its own
};
LimitFacts limit_facts(const TargetSnapshot& target);

// The program that made a cgroup, by the names that it gives to cgroups. Any program can choose such a name, so the
// result is used only in advice.
enum class CgroupMaker { unknown, slurm, kubernetes, docker, podman, systemd };
CgroupMaker maker_of(std::string_view cgroup);

// Where the memory limit is set, as text after "raise the limit": "memory.max of train", "--mem of sbatch or srun".
std::string limit_setting(const LimitFacts& facts);
// How to enlarge /dev/shm, as text after "enlarge /dev/shm".
std::string shm_setting(const LimitFacts& facts);

}  // namespace memscope
