#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "model/processes/process.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// Bounds for a walk, because users can create cgroups of their own, in any number and depth.
struct WalkBounds {
    std::size_t directories = 20000;
    std::size_t depth = 64;  // also the number of file descriptors that a walk needs
};

struct WalkedDirectory {
    const std::string& path;  // relative to the hierarchy
    std::string_view name;
    std::size_t depth;  // 1 for a child of the top
    const Fd& fd;
};

struct WalkResult {
    bool complete = true;         // false: a bound or an error cut the walk short
    bool no_descriptors = false;  // the error was that no file descriptor was left
    explicit operator bool() const { return complete; }
};

// Visits every directory below `top`, parents first. `visit` returns whether to descend into it. Directories that are
// removed during the walk are left out.
WalkResult walk_directories(const Fd& top, const std::string& top_path, const WalkBounds& bounds,
                            const std::function<bool(const WalkedDirectory&)>& visit);

// A cgroup, identified by its open directory: a path can be recreated, but an open directory never refers to the
// successor.
class CgroupDirectory {
  public:
    static Result<CgroupDirectory> open(const CgroupHierarchy& hierarchy, const std::string& path);
    // The cgroup and every ancestor, itself first, the root last.
    static Result<std::vector<CgroupDirectory>> open_chain(const CgroupHierarchy& hierarchy, const std::string& path);

    CgroupId id() const { return id_; }
    const std::string& path() const { return path_; }
    const Fd& fd() const { return fd_; }
    bool exists() const;  // false after it was removed

  private:
    CgroupDirectory(Fd fd, CgroupId id, std::string path) : fd_(std::move(fd)), id_(id), path_(std::move(path)) {}
    static Result<CgroupDirectory> take(Fd fd, std::string path);

    Fd fd_;
    CgroupId id_{};
    std::string path_;
};

using CgroupDirectoryPtr = std::shared_ptr<const CgroupDirectory>;

// Opens chains of cgroups and shares their descriptors: a cgroup that is in several chains (the ancestor of many
// targets) is open once.
class SharedCgroups {
  public:
    explicit SharedCgroups(CgroupHierarchy hierarchy) : hierarchy_(std::move(hierarchy)) {}

    // The cgroup and every ancestor, itself first, the root last. They stay open as long as a pointer to them exists.
    Result<std::vector<CgroupDirectoryPtr>> open_chain(const std::string& path);

  private:
    CgroupHierarchy hierarchy_;
    std::map<CgroupId, std::weak_ptr<const CgroupDirectory>> open_{};
    std::size_t swept_size_ = 0;  // entries after the last removal of expired ones
};

// The inode number of the directory is the kernel's id of the cgroup.
Result<CgroupId> cgroup_id(const Fd& directory);
// True if the cgroup, or the file of it that was read, does not exist any more.
bool is_gone(const Error& error);

// All cgroups below `below` ("" for the root) as sorted paths from the root of the hierarchy.
std::vector<std::string> list_cgroups(const CgroupHierarchy& hierarchy, const std::string& below,
                                      const WalkBounds& bounds = {});
struct FoundCgroup {
    std::string path{};
    CgroupId id{};
};
struct MatchingCgroups {
    std::vector<FoundCgroup> found{};  // sorted by path
    bool no_descriptors = false;       // true: some may be missing, because file descriptors ran out during the search
};
// The cgroups that match a glob now, never the root. Descends only where a match is possible.
MatchingCgroups find_matching(const CgroupHierarchy& hierarchy, const std::string& glob, const WalkBounds& bounds = {});
// Resolves the name of an existing cgroup: a path, or a systemd unit that has exactly one directory. If it does not
// exist, the error has the code ENOENT and suggests similar names. A unit with several directories is an error without
// a code.
Result<std::string> resolve_plain(const CgroupHierarchy& hierarchy, const std::string& path);

}  // namespace memscope
