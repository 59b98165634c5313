#include "watch/target_set.h"

#include <algorithm>

namespace memscope {
namespace {

bool encloses(const std::string& outer, const std::string& inner) {
    if (outer.size() >= inner.size()) return false;
    return outer.empty() || (inner.starts_with(outer) && inner[outer.size()] == '/');
}

std::string shown_name(const std::string& path) { return path.empty() ? "/" : path; }

}  // namespace

Result<TargetSet> TargetSet::open(const CgroupHierarchy& hierarchy, const std::vector<std::string>& typed, bool wait) {
    std::vector<CgroupName> names;
    for (const std::string& text : typed) {
        auto name = parse_cgroup_name(text, hierarchy);
        if (!name) return name.error();
        if (!name->glob && !wait)
            if (const auto path = resolve_plain(hierarchy, name->path); !path) return path.error();
        names.push_back(std::move(*name));
    }
    TargetSet set(hierarchy, std::move(names));
    set.waiting_ = wait;
    return set;
}

std::vector<std::string> TargetSet::paths_of(const CgroupName& name) const {
    if (name.glob) return find_matching(hierarchy_, name.path);
    if (auto path = resolve_plain(hierarchy_, name.path)) return {std::move(*path)};
    return {};
}

bool TargetSet::add(const std::string& path, Changes& changes) {
    auto directory = CgroupDirectory::open(hierarchy_, path);
    if (!directory) return false;  // gone again
    const CgroupId id = directory->id();
    if (targets_.contains(id)) return true;
    auto memory = CgroupMemory::open(hierarchy_, path);
    if (!memory) return false;
    targets_.emplace(id, Target{.info = {.name = shown_name(path), .cgroup_version = hierarchy_.version},
                                .directory = std::move(*directory),
                                .memory = std::move(*memory)});
    changes.added.push_back(id);
    return true;
}

void TargetSet::nest_anew() {
    for (const auto& [id, target] : targets_) {
        const Target* nearest = nullptr;
        for (const auto& [other_id, other] : targets_) {
            if (!encloses(other.directory.path(), target.directory.path())) continue;
            if (!nearest || nearest->directory.path().size() < other.directory.path().size()) nearest = &other;
        }
        nesting_.add(id, nearest ? nearest->directory.id() : kNoCgroup);
    }
}

TargetSet::Changes TargetSet::refresh() {
    Changes changes;
    for (const auto& [id, target] : targets_)
        if (!target.directory.exists()) changes.removed.push_back(id);
    for (const CgroupId id : changes.removed) targets_.erase(id);
    for (const CgroupName& name : names_)
        for (const std::string& path : paths_of(name))
            if (add(path, changes) && !name.glob) waiting_ = false;
    if (!changes.added.empty()) nest_anew();
    return changes;
}

void TargetSet::forget(CgroupId removed) { nesting_.remove(removed); }

bool TargetSet::finished() const {
    const bool any_glob = std::any_of(names_.begin(), names_.end(), [](const CgroupName& name) { return name.glob; });
    return targets_.empty() && !any_glob && !waiting_;
}

}  // namespace memscope
