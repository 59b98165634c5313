#include "model/snapshot.h"

#include <algorithm>

namespace memscope {

std::string_view name_of(VerdictScope scope) {
    static constexpr std::string_view kNames[] = {"target", "role", "gpu", "pinned"};
    return kNames[static_cast<std::size_t>(scope)];
}

RoleCounters& RoleCounters::operator+=(const RoleCounters& other) {
    starts += other.starts;
    exits += other.exits;
    faults.minor += other.faults.minor;
    faults.major += other.faults.major;
    if (other.mappings) {
        if (!mappings) mappings.emplace();
        *mappings += *other.mappings;
    }
    return *this;
}

std::string_view name_of(GrowthCause::Kind kind) {
    static constexpr std::string_view kNames[] = {"unsharing", "shared_memory", "page_tables",
                                                  "kernel",    "malloc_free",   "python_free"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Suspect::Kind kind) { return kind == Suspect::Kind::holder ? "holder" : "line"; }

const TargetSnapshot* find_target(const Snapshot& snapshot, const std::string& name) {
    const auto name_of_target = [](const TargetSnapshot& target) -> const std::string& { return target.info.name; };
    const auto found = std::ranges::lower_bound(snapshot.targets, name, {}, name_of_target);
    return found == snapshot.targets.end() || found->info.name != name ? nullptr : &*found;
}

}  // namespace memscope
