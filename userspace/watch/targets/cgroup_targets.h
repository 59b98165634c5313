#pragma once
#include <map>
#include <string>
#include <vector>

#include "model/processes/target_paths.h"
#include "sources/cgroup/cgroup_directory.h"
#include "sources/cgroup/cgroup_memory.h"
#include "sources/cgroup/cgroup_path.h"
#include "watch/targets/target.h"

namespace memscope {

// The cgroups that were named. Names are looked up again whenever cgroups come and go: a glob gains members, a plain
// name that is waited for appears.
class CgroupTargets : public Targets {
  public:
    // Fails on a bad name, and on a plain one that does not exist unless `wait`.
    static Result<std::unique_ptr<CgroupTargets>> open(const CgroupHierarchy& hierarchy,
                                                       const std::vector<std::string>& typed, bool wait);
    // One cgroup of our own making, shown under another name.
    static Result<std::unique_ptr<CgroupTargets>> open_own(const CgroupHierarchy& hierarchy, const std::string& path,
                                                           TargetInfo shown);

    void begin_tick() override { ancestors_->begin_tick(); }
    Changes refresh() override;
    // Every cgroup that was named is gone again, and no glob can bring a new one.
    bool finished(std::size_t living) const override;

  private:
    CgroupTargets(CgroupHierarchy hierarchy, std::vector<CgroupName> names)
        : hierarchy_(std::move(hierarchy)), names_(std::move(names)), shared_(hierarchy_) {}

    void remove_gone(Changes& changes);
    MatchingCgroups find(const CgroupName& name) const;
    std::optional<CgroupId> add(const FoundCgroup& found, Changes& changes);

    CgroupHierarchy hierarchy_;
    std::vector<CgroupName> names_;
    std::map<std::string, CgroupId> found_{};  // which one a plain name meant
    SharedCgroups shared_;
    std::map<CgroupId, CgroupDirectoryPtr> directories_;
    TargetPaths paths_{};
    std::shared_ptr<AncestorReadings> ancestors_ = std::make_shared<AncestorReadings>();
    std::optional<TargetInfo> shown_{};
    bool waiting_ = false;  // for plain names none of which has appeared yet
    bool refused_ = false;  // the last refresh lacked a file descriptor, so that a cgroup may be there unseen
};

}  // namespace memscope
