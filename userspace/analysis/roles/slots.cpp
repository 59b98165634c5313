#include "analysis/roles/slots.h"

#include <algorithm>

namespace memscope {
namespace {

bool has_slots(Role role) { return role == Role::dataloader_worker || role == Role::compile_worker; }

}  // namespace

std::vector<std::optional<int>> SlotAssigner::assign(std::span<const Subject> subjects) {
    std::vector<std::optional<int>> slots(subjects.size());
    std::map<ProcessId, Place> still;
    std::map<std::pair<CgroupId, RoleKey>, std::set<int>> busy;
    std::vector<std::size_t> newcomers;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const Subject& subject = subjects[i];
        if (!has_slots(subject.role.role)) continue;
        const auto known = taken_.find(subject.id);
        if (known == taken_.end() || known->second.target != subject.target || known->second.role != subject.role) {
            newcomers.push_back(i);
            continue;
        }
        slots[i] = known->second.slot;
        if (subject.ended) continue;  // its slot is free from now on
        still.insert(*known);
        busy[{subject.target, subject.role}].insert(known->second.slot);
    }
    std::ranges::sort(newcomers, {},
                      [&](std::size_t i) { return std::pair(subjects[i].id.start_ns, subjects[i].id.pid); });
    // Workers that started and ended between two ticks take a slot and free it again.
    for (const std::size_t i : newcomers) {
        const Subject& subject = subjects[i];
        std::set<int>& there = busy[{subject.target, subject.role}];
        int slot = 0;
        for (const int each : there) {
            if (each != slot) break;
            ++slot;
        }
        slots[i] = slot;
        if (subject.ended) continue;
        there.insert(slot);
        still.emplace(subject.id, Place{subject.target, subject.role, slot});
    }
    taken_ = std::move(still);
    return slots;
}

}  // namespace memscope
