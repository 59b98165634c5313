#include "watch/cgroup_targets.h"

#include <algorithm>

#include "sources/cgroup_memory.h"

namespace memscope {
namespace {

class OfCgroup : public TargetMemory {
  public:
    explicit OfCgroup(CgroupMemory memory) : memory_(std::move(memory)) {}
    Result<MemoryState> sample(const HostMemory& host, const std::vector<Process>&) override {
        auto state = memory_.sample(host);
        // A cgroup that is removed while it is read may answer with anything, an empty file included.
        if (!state && !memory_.directory().exists()) return system_error(ENODEV, "read a cgroup that was removed");
        return state;
    }
    void note_kill() override { memory_.note_kill(); }

  private:
    CgroupMemory memory_;
};

bool encloses(const std::string& outer, const std::string& inner) {
    if (outer.size() >= inner.size()) return false;
    return outer.empty() || (inner.starts_with(outer) && inner[outer.size()] == '/');
}

}  // namespace

Result<std::unique_ptr<CgroupTargets>> CgroupTargets::open(const CgroupHierarchy& hierarchy,
                                                           const std::vector<std::string>& typed, bool wait) {
    std::vector<CgroupName> names;
    for (const std::string& text : typed) {
        auto name = parse_cgroup_name(text, hierarchy);
        if (!name) return name.error();
        if (!name->glob && !wait)
            if (const auto path = resolve_plain(hierarchy, name->path); !path) return path.error();
        names.push_back(std::move(*name));
    }
    std::unique_ptr<CgroupTargets> targets(new CgroupTargets(hierarchy, std::move(names)));
    targets->waiting_ = wait;
    return targets;
}

Result<std::unique_ptr<CgroupTargets>> CgroupTargets::open_own(const CgroupHierarchy& hierarchy,
                                                               const std::string& path, TargetInfo shown) {
    auto targets = open(hierarchy, {"/" + path}, false);
    if (targets) (*targets)->shown_ = std::move(shown);
    return targets;
}

std::vector<std::string> CgroupTargets::paths_of(const CgroupName& name) const {
    if (name.glob) return find_matching(hierarchy_, name.path);
    if (auto path = resolve_plain(hierarchy_, name.path)) return {std::move(*path)};
    return {};
}

std::optional<CgroupId> CgroupTargets::add(const std::string& path, Changes& changes) {
    auto directory = CgroupDirectory::open(hierarchy_, path);
    if (!directory) return std::nullopt;  // gone again
    const CgroupId id = directory->id();
    if (targets_.contains(id)) return id;
    auto memory = CgroupMemory::open(hierarchy_, path);
    if (!memory) return std::nullopt;
    const TargetInfo info =
        shown_.value_or(TargetInfo{.name = path.empty() ? "/" : path, .cgroup_version = hierarchy_.version});
    targets_.emplace(id, Target{.info = info, .memory = std::make_unique<OfCgroup>(std::move(*memory))});
    directories_.emplace(id, std::move(*directory));
    changes.added.push_back(id);
    return id;
}

void CgroupTargets::nest_anew() {
    for (const auto& [id, directory] : directories_) {
        const CgroupDirectory* nearest = nullptr;
        for (const auto& [other_id, other] : directories_) {
            if (!encloses(other.path(), directory.path())) continue;
            if (!nearest || nearest->path().size() < other.path().size()) nearest = &other;
        }
        nesting_.add(id, nearest ? nearest->id() : kNoCgroup);
    }
}

Targets::Changes CgroupTargets::refresh() {
    Changes changes;
    for (const auto& [id, directory] : directories_)
        if (!directory.exists()) changes.removed.push_back(id);
    for (const CgroupId id : changes.removed) {
        // Where it was named its removal is the end, even if there is another one of that name by now.
        std::erase_if(names_, [&](const CgroupName& name) {
            const auto found = found_.find(name.path);
            return !name.glob && found != found_.end() && found->second == id;
        });
        changes.removed_infos[id] = targets_.at(id).info;
        targets_.erase(id);
        directories_.erase(id);
    }
    for (const CgroupName& name : names_)
        for (const std::string& path : paths_of(name))
            if (const auto added = add(path, changes); added && !name.glob) {
                waiting_ = false;
                found_[name.path] = *added;
            }
    if (!changes.added.empty()) nest_anew();
    return changes;
}

bool CgroupTargets::finished(std::size_t) const {
    const bool any_glob = std::any_of(names_.begin(), names_.end(), [](const CgroupName& name) { return name.glob; });
    return targets_.empty() && !any_glob && !waiting_;
}

}  // namespace memscope
