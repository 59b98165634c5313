#pragma once
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// What the cgroups of `-- CMD` are called; a pid stands behind it.
inline constexpr const char* kCommandCgroup = "memscope-run";

// A cgroup of our own at the top of the hierarchy. Whatever is in it at the end is killed, and it is removed.
class OwnCgroup {
  public:
    // `name` gets our pid behind it, so that what a killed memscope left behind is known by its dead pid.
    static Result<OwnCgroup> make(const CgroupHierarchy& hierarchy, const std::string& name,
                                  std::optional<Bytes> limit);
    OwnCgroup(OwnCgroup&& other) noexcept = default;
    OwnCgroup& operator=(OwnCgroup&&) = delete;
    ~OwnCgroup();

    const std::string& name() const { return name_; }
    Status enter();  // the calling process moves into it

    // Removes empty cgroups `name`-PID whose maker is dead.
    static void remove_left_behind(const CgroupHierarchy& hierarchy, const std::string& name);

  private:
    OwnCgroup(fs::path parent, std::string name, Fd directory)
        : parent_(std::move(parent)), name_(std::move(name)), directory_(std::move(directory)) {}

    fs::path parent_;
    std::string name_;
    Fd directory_;
};

}  // namespace memscope
