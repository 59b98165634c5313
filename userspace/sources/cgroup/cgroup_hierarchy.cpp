#include "sources/cgroup/cgroup_hierarchy.h"

#include <algorithm>

#include "base/text.h"

namespace memscope {
namespace {

// Prefers a mount of the whole hierarchy. In a container only a part of it may be mounted.
const Mount* best_of(const std::vector<const Mount*>& mounts) {
    const auto whole =
        std::find_if(mounts.begin(), mounts.end(), [](const Mount* mount) { return mount->root == "/"; });
    if (whole != mounts.end()) return *whole;
    return mounts.empty() ? nullptr : mounts.front();
}

}  // namespace

bool names_memory(std::string_view list, char separator) {
    const auto names = split(trimmed(list), separator);
    return std::find(names.begin(), names.end(), "memory") != names.end();
}

Result<CgroupHierarchy> choose_hierarchy(const std::vector<Mount>& mounts,
                                         const std::function<bool(const fs::path&)>& lists_memory) {
    std::vector<const Mount*> v1, v2;
    bool any_v1 = false, any_v2 = false;
    for (const Mount& mount : mounts) {
        if (mount.type == "cgroup") {
            any_v1 = true;
            if (names_memory(mount.super_options, ',')) v1.push_back(&mount);
        } else if (mount.type == "cgroup2") {
            any_v2 = true;
            if (lists_memory(mount.point)) v2.push_back(&mount);
        }
    }
    const bool hybrid = any_v1 && any_v2;
    // The kernel attaches each controller to one hierarchy only, so at most one of the two lists is not empty.
    if (const Mount* mount = best_of(v2)) return CgroupHierarchy{2, mount->point, hybrid};
    if (const Mount* mount = best_of(v1)) return CgroupHierarchy{1, mount->point, hybrid};
    if (!any_v1 && !any_v2)
        return plain_error("no cgroup hierarchy is mounted on this machine",
                           "mount one: mount -t cgroup2 none /sys/fs/cgroup");
    return plain_error("this machine has no memory controller in its cgroups",
                       "boot with cgroup_enable=memory and without cgroup_disable=memory; in a container, run memscope "
                       "on the host");
}

Result<CgroupHierarchy> find_hierarchy(const SysRoot& root) {
    const auto list = read_mountinfo(root, "self");
    if (!list) return list.error();
    auto chosen = choose_hierarchy(list->mounts, [](const fs::path& mount) {
        const auto controllers = read_file(mount / "cgroup.controllers");
        return controllers && names_memory(*controllers, ' ');
    });
    if (!chosen && list->truncated)
        return plain_error("find the cgroup hierarchy: the list of mounts is longer than the " +
                               std::to_string(kMountinfoLimit >> 20) + " MiB that memscope reads",
                           "unmount file systems that are not needed");
    return chosen;
}

}  // namespace memscope
