#pragma once
#include <map>
#include <string>
#include <vector>

#include "model/processes/target_paths.h"
#include "sources/cgroup/cgroup_directory.h"
#include "sources/cgroup/cgroup_memory.h"
#include "sources/cgroup/cgroup_path.h"
#include "watch/targets/target_source.h"

namespace memscope {

// The cgroups that the user named. Every refresh() looks the names up again: a glob may have gained members, and a
// plain name that memscope waits for may have appeared.
class CgroupTargets : public TargetSource {
  public:
    // Fails if a name is invalid, or if a plain name does not exist and `wait` is false.
    static Result<std::unique_ptr<CgroupTargets>> open(const CgroupHierarchy& hierarchy,
                                                       const std::vector<std::string>& typed, bool wait);
    // One cgroup that memscope has made itself, shown under another name.
    static Result<std::unique_ptr<CgroupTargets>> open_own(const CgroupHierarchy& hierarchy, const std::string& path,
                                                           TargetInfo shown);

    void begin_tick() override { ancestors_->begin_tick(); }
    Changes refresh() override;
    // True if every named cgroup was removed, and there is no glob that new cgroups could match.
    bool finished(std::size_t living) const override;

  private:
    CgroupTargets(CgroupHierarchy hierarchy, std::vector<CgroupName> names)
        : hierarchy_(std::move(hierarchy)), names_(std::move(names)), shared_(hierarchy_) {}

    void remove_gone(Changes& changes);
    MatchingCgroups find(const CgroupName& name) const;
    std::optional<CgroupId> add(const FoundCgroup& found, Changes& changes);

    CgroupHierarchy hierarchy_;
    std::vector<CgroupName> names_;
    std::map<std::string, CgroupId> found_{};  // the cgroup that each plain name was resolved to
    SharedCgroups shared_;
    std::map<CgroupId, CgroupDirectoryPtr> directories_{};  // of all present targets
    TargetPaths paths_{};
    std::shared_ptr<AncestorReadings> ancestors_ = std::make_shared<AncestorReadings>();
    std::optional<TargetInfo> shown_{};  // of open_own()
    bool waiting_ = false;               // for plain names; no such cgroup has appeared yet
    bool refused_ = false;               // the last refresh lacked a file descriptor, so it may have missed a cgroup
};

}  // namespace memscope
