#include "analysis/role_totals.h"

namespace memscope {

std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes) {
    std::map<RoleKey, RoleTotals> sums;
    RoleKey last;
    RoleTotals* sum = nullptr;  // of `last`: neighbours mostly have the same role
    for (const Process& process : processes) {
        const RoleKey key{process.role, process.rank};
        if (!sum || key != last) {
            sum = &sums[key];
            last = key;
        }
        ++sum->processes;
        sum->threads += process.task.threads;
        if (const auto& memory = process.task.memory) {
            sum->anon += memory->anon;
            sum->file += memory->file;
            sum->shmem += memory->shmem;
            sum->swap += memory->swap;
            sum->inherited += process.inherited;
            sum->own_known = sum->own_known && process.own_known;
        }
    }
    return sums;
}

}  // namespace memscope
