#include "watch/targets/cgroup_targets.h"

#include <algorithm>

#include "sources/cgroup/memory_parts.h"
#include "watch/self/self_protection.h"

namespace memscope {
namespace {

class MemoryOfCgroup : public TargetMemory {
  public:
    explicit MemoryOfCgroup(CgroupMemory memory) : memory_(std::move(memory)) {}
    Result<MemoryState> sample(const HostMemory& host, const std::vector<Process>& processes) override {
        auto state = memory_.sample(host, countable_kernel_memory(processes));
        // The files of a cgroup that is removed during the read may fail with any error, or be empty.
        if (!state && !memory_.directory().exists()) return system_error(ENODEV, "read a cgroup that was removed");
        return state;
    }
    void note_kill() override { memory_.note_kill(); }

  private:
    CgroupMemory memory_;
};

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

MatchingCgroups CgroupTargets::find(const CgroupName& name) const {
    if (name.glob) return find_matching(hierarchy_, name.path);
    MatchingCgroups matching;
    const auto path = resolve_plain(hierarchy_, name.path);
    const auto directory = path ? CgroupDirectory::open(hierarchy_, *path) : Result<CgroupDirectory>(path.error());
    if (directory)
        matching.found.push_back({*path, directory->id()});
    else
        matching.no_descriptors = is_out_of_descriptors(directory.error());
    return matching;
}

// Returns the id of the target. `nullopt` if the cgroup has been removed since, or if no file descriptor is left for
// it.
std::optional<CgroupId> CgroupTargets::add(const FoundCgroup& found, Changes& changes) {
    if (directories_.contains(found.id)) return found.id;
    auto chain = shared_.open_chain(found.path);
    if (!chain) {
        if (is_out_of_descriptors(chain.error())) ++changes.no_descriptor;
        return std::nullopt;
    }
    const CgroupDirectoryPtr directory = chain->front();
    const CgroupId id = directory->id();  // not found.id if the cgroup was removed and made again since
    if (directories_.contains(id)) return id;
    if (is_near_open_file_limit(directory->fd())) {
        ++changes.no_descriptor;
        return std::nullopt;
    }
    directories_.emplace(id, directory);
    TargetPaths::Place place = paths_.add(directory->path(), id);
    changes.added.push_back(
        {.id = id,
         .info = shown_.value_or(
             TargetInfo{.name = found.path.empty() ? "/" : found.path, .cgroup_version = hierarchy_.version}),
         .memory = std::make_unique<MemoryOfCgroup>(CgroupMemory::of(hierarchy_, *std::move(chain), {}, ancestors_)),
         .enclosing = place.enclosing,
         .inside = std::move(place.inside)});
    return id;
}

void CgroupTargets::remove_gone(Changes& changes) {
    for (const auto& [id, directory] : directories_)
        if (!directory->exists()) changes.removed.push_back(id);
    for (const CgroupId id : changes.removed) {
        // A plain name means one cgroup. It is not looked up again, even if another cgroup of this name exists by now.
        std::erase_if(names_, [&](const CgroupName& name) {
            const auto found = found_.find(name.path);
            return !name.glob && found != found_.end() && found->second == id;
        });
        paths_.remove(directories_.at(id)->path(), id);
        directories_.erase(id);
    }
}

TargetSource::Changes CgroupTargets::refresh() {
    Changes changes;
    remove_gone(changes);
    bool search_failed = false;
    for (const CgroupName& name : names_) {
        const MatchingCgroups matching = find(name);
        search_failed = search_failed || matching.no_descriptors;
        for (const FoundCgroup& found : matching.found)
            if (const auto added = add(found, changes); added && !name.glob) {
                waiting_ = false;
                found_[name.path] = *added;
            }
    }
    if (search_failed && changes.no_descriptor == 0) changes.no_descriptor = 1;
    refused_ = changes.no_descriptor > 0;
    return changes;
}

bool CgroupTargets::finished(std::size_t) const {
    const bool any_glob = std::any_of(names_.begin(), names_.end(), [](const CgroupName& name) { return name.glob; });
    return directories_.empty() && !any_glob && !waiting_ && !refused_;
}

}  // namespace memscope
