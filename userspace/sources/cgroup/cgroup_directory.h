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

// Users can make cgroups of their own, as many and as deep as they like: a walk has an end anyway.
struct WalkBounds {
    std::size_t directories = 20000;
    std::size_t depth = 64;  // also what a walk needs of file descriptors
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

// Visits every directory below `top`, parents first; `visit` says whether to go down into it. Directories that
// vanish on the way are left out.
WalkResult walk_directories(const Fd& top, const std::string& top_path, const WalkBounds& bounds,
                            const std::function<bool(const WalkedDirectory&)>& visit);

// A cgroup held by its open directory: a path can be recreated, an open directory cannot be confused with its
// successor.
class CgroupDirectory {
  public:
    static Result<CgroupDirectory> open(const CgroupHierarchy& hierarchy, const std::string& path);
    // The cgroup and every ancestor, itself first, the root last.
    static Result<std::vector<CgroupDirectory>> open_chain(const CgroupHierarchy& hierarchy, const std::string& path);

    CgroupId id() const { return id_; }
    const std::string& path() const { return path_; }
    const Fd& fd() const { return fd_; }
    bool exists() const;  // false once it was removed

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

    // The cgroup and every ancestor, itself first, the root last. They stay open as long as somebody holds them.
    Result<std::vector<CgroupDirectoryPtr>> open_chain(const std::string& path);
    std::size_t remembered() const { return open_.size(); }

  private:
    CgroupHierarchy hierarchy_;
    std::map<CgroupId, std::weak_ptr<const CgroupDirectory>> open_{};
    std::size_t swept_size_ = 0;  // entries after the last removal of those that nobody holds any more
};

// The inode of the directory is the id the kernel knows the cgroup by.
Result<CgroupId> cgroup_id(const Fd& directory);
// The cgroup, or the file of it that was read, is not there any more.
bool is_gone(const Error& error);

// Everything below `below` ("" for all), as sorted paths from the root of the hierarchy.
std::vector<std::string> list_cgroups(const CgroupHierarchy& hierarchy, const std::string& below,
                                      const WalkBounds& bounds = {});
struct FoundCgroup {
    std::string path{};
    CgroupId id{};
};
struct MatchingCgroups {
    std::vector<FoundCgroup> found{};  // sorted by path
    bool no_descriptors = false;       // some may be missing, because no file descriptor was left to look for them
};
// The cgroups a glob names now. Goes down only where a match is possible. Never the root.
MatchingCgroups find_matching(const CgroupHierarchy& hierarchy, const std::string& glob, const WalkBounds& bounds = {});
// The path of a cgroup that exists: as typed, or the one directory of a systemd unit. When there is none the error
// has the code ENOENT and names what is alike; a unit that stands in several places is an error without code.
Result<std::string> resolve_plain(const CgroupHierarchy& hierarchy, const std::string& path);

}  // namespace memscope
