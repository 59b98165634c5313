#include "analysis/role_pss.h"

#include <algorithm>

namespace memscope {

std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::uint64_t now_ns) {
    struct Resident {
        Bytes all{};
        Bytes read{};
    };
    std::map<RoleKey, Resident> resident;
    std::map<RoleKey, RolePss> sums;
    for (const Process& process : processes) {
        if (!process.task.memory) continue;
        const RoleKey key{process.role, process.rank};
        const AddressSpace& memory = *process.task.memory;
        const Bytes size = memory.anon + memory.file + memory.shmem;
        resident[key].all += size;
        const auto reading = readings.find(process.task.id);
        if (reading == readings.end() || !reading->second.pages) continue;
        resident[key].read += std::min(size, reading->second.pages->resident);
        RolePss& sum = sums[key];
        sum.bytes += reading->second.pages->pss;
        const std::uint64_t read_ns = std::min(reading->second.read_ns, now_ns);
        sum.age = std::max(sum.age, Seconds{static_cast<double>(now_ns - read_ns) * 1e-9});
        ++sum.processes;
    }
    std::erase_if(sums, [&](const auto& entry) {
        const Resident& of = resident[entry.first];
        return of.read.n < of.all.n - of.all.n / 4;
    });
    return sums;
}

}  // namespace memscope
