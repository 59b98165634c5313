#pragma once
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// The prefix of the names of the cgroups of `-- CMD`. A dash and the pid of the watcher follow.
inline constexpr const char* kCommandCgroup = "memscope-run";

// A cgroup that memscope creates at the top of the hierarchy. The destructor kills all processes in it and removes it.
class OwnCgroup {
  public:
    // Creates the cgroup `name`-PID with our pid, so that a later memscope can recognize cgroups of a memscope that was
    // killed.
    static Result<OwnCgroup> make(const CgroupHierarchy& hierarchy, const std::string& name,
                                  std::optional<Bytes> limit);
    OwnCgroup(OwnCgroup&& other) noexcept = default;
    OwnCgroup& operator=(OwnCgroup&&) = delete;
    ~OwnCgroup();

    const std::string& name() const { return name_; }
    Status enter();  // moves the calling process into it

    // Removes empty cgroups `name`-PID whose PID does not exist any more.
    static void remove_left_behind(const CgroupHierarchy& hierarchy, const std::string& name);

  private:
    OwnCgroup(fs::path parent, std::string name, Fd directory)
        : parent_(std::move(parent)), name_(std::move(name)), directory_(std::move(directory)) {}

    fs::path parent_;
    std::string name_;
    Fd directory_;
};

}  // namespace memscope
