#include "analysis/role_totals.h"

namespace memscope {

std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes) {
    std::map<RoleKey, RoleTotals> sums;
    for (const Process& process : processes) {
        RoleTotals& sum = sums[{process.role, process.rank}];
        ++sum.processes;
        sum.threads += process.task.threads;
        if (const auto& memory = process.task.memory) {
            sum.anon += memory->anon;
            sum.file += memory->file;
            sum.shmem += memory->shmem;
            sum.swap += memory->swap;
        }
    }
    return sums;
}

}  // namespace memscope
