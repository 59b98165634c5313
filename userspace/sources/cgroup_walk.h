#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"

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

}  // namespace memscope
