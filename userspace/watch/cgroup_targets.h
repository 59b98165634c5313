#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/nesting.h"
#include "model/snapshot.h"
#include "sources/cgroup_directory.h"
#include "sources/cgroup_memory.h"
#include "sources/cgroup_path.h"

namespace memscope {

struct Target {
    TargetInfo info{};
    CgroupDirectory directory;
    CgroupMemory memory;
    std::optional<ShmUsage> shm{};  // read every few seconds only: it takes a list of mounts per namespace
    std::uint64_t shm_read_ns = 0;  // boot clock
};

// The cgroups that are watched now. Names that were typed are looked up again whenever cgroups come and go: a glob
// gains members, a plain name that is waited for appears.
class TargetSet {
  public:
    struct Changes {
        std::vector<CgroupId> added{};
        std::vector<CgroupId> removed{};
    };

    // Fails on a bad name, and on a plain one that does not exist unless `wait`.
    static Result<TargetSet> open(const CgroupHierarchy& hierarchy, const std::vector<std::string>& typed, bool wait);

    // Finds out who is new and who is gone. `removed` still stand in nesting() until forget().
    Changes refresh();
    void forget(CgroupId removed);

    // Every cgroup that was named is gone again, and no glob can bring a new one.
    bool finished() const;

    std::map<CgroupId, Target>& targets() { return targets_; }
    const Nesting& nesting() const { return nesting_; }

  private:
    TargetSet(CgroupHierarchy hierarchy, std::vector<CgroupName> names)
        : hierarchy_(std::move(hierarchy)), names_(std::move(names)) {}

    std::vector<std::string> paths_of(const CgroupName& name) const;
    bool add(const std::string& path, Changes& changes);
    void nest_anew();

    CgroupHierarchy hierarchy_;
    std::vector<CgroupName> names_;
    std::map<CgroupId, Target> targets_;
    Nesting nesting_;
    bool waiting_ = false;  // for plain names none of which has appeared yet
};

}  // namespace memscope
