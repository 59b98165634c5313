#include "analysis/roles/role_totals.h"

#include <algorithm>

namespace memscope {

std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes) {
    std::map<RoleKey, RoleTotals> sums;
    RoleKey last;
    RoleTotals* sum = nullptr;  // the sum of `last`; neighbours mostly have the same role
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

namespace {

const PageSharing* pages_of(const Process& process, const SharingReadings& readings) {
    const auto reading = readings.find(process.task.id);
    return reading != readings.end() && reading->second.pages ? &*reading->second.pages : nullptr;
}

// The pid of the process whose pages it shares: its parent if it was forked without an exec, otherwise itself.
pid_t family_of(const Process& process) {
    return process.task.forked_without_exec ? process.task.parent : process.task.id.pid;
}

// Computes each process's share of shared pages if only samples are known.
class Division {
  public:
    Division(std::span<const Process> processes, const SharingReadings& readings, std::optional<Bytes> cgroup_anon) {
        double known = 0, shared = 0;
        bool all_read = true;
        for (const Process& process : processes) {
            if (!process.task.memory) continue;
            ++relatives_[family_of(process)];
            const PageSharing* pages = pages_of(process, readings);
            all_read = all_read && pages;
            if (!pages) continue;
            known += static_cast<double>(pages->pss ? pages->pss->anon.n : pages->own_anon.n);
            if (!pages->pss) shared += static_cast<double>(pages->shared_anon().n);
        }
        if (cgroup_anon && all_read && shared > 0)
            of_anon_ = std::max((static_cast<double>(cgroup_anon->n) - known) / shared, 0.0);
    }

    Bytes pss(const Process& process, const PageSharing& pages) const {
        if (pages.pss) return pages.pss->all;
        const double least = 1.0 / static_cast<double>(std::max<std::size_t>(relatives_.at(family_of(process)), 2));
        const double of_anon = std::clamp(of_anon_.value_or(least), least, 0.5);
        const double shared =
            static_cast<double>(pages.shared_anon().n) * of_anon + static_cast<double>(pages.shared_mapped().n) * least;
        return pages.own_anon + pages.own_mapped + Bytes{static_cast<std::uint64_t>(shared)};
    }

  private:
    std::map<pid_t, std::size_t> relatives_{};
    std::optional<double> of_anon_{};
};

}  // namespace

std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::optional<Bytes> cgroup_anon, std::uint64_t now_ns) {
    struct Resident {
        Bytes all{};
        Bytes read{};
    };
    const Division division(processes, readings, cgroup_anon);
    std::map<RoleKey, Resident> resident;
    std::map<RoleKey, RolePss> sums;
    for (const Process& process : processes) {
        if (!process.task.memory) continue;
        const RoleKey key{process.role, process.rank};
        const AddressSpace& memory = *process.task.memory;
        const Bytes size = memory.anon + memory.file + memory.shmem;
        resident[key].all += size;
        const PageSharing* pages = pages_of(process, readings);
        if (!pages) continue;
        resident[key].read += std::min(size, pages->resident);
        RolePss& sum = sums[key];
        sum.bytes += division.pss(process, *pages);
        const std::uint64_t read_ns = std::min(readings.at(process.task.id).read_ns, now_ns);
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
