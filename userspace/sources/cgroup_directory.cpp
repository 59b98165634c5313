#include "sources/cgroup_directory.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sources/cgroup_path.h"

namespace memscope {

Result<CgroupId> cgroup_id(const Fd& directory) {
    struct stat status{};
    if (::fstat(directory.get(), &status) != 0) return system_error(errno, "stat cgroup");
    return CgroupId{status.st_ino};
}

bool is_gone(const Error& error) {
    return error.code == std::errc::no_such_file_or_directory || error.code == std::errc::no_such_device;
}

Result<CgroupDirectory> CgroupDirectory::take(Fd fd, std::string path) {
    const auto id = cgroup_id(fd);
    if (!id) return id.error();
    return CgroupDirectory(std::move(fd), *id, std::move(path));
}

Result<std::vector<CgroupDirectory>> CgroupDirectory::open_chain(const CgroupHierarchy& hierarchy,
                                                                 const std::string& path) {
    const auto failed = [&](const Error& error, const std::string& at) {
        return Error{error.code, "open cgroup " + (hierarchy.mount / at).native(), {}};
    };
    auto components = path.empty() ? std::vector<std::string_view>{} : split(path, '/');
    if (components.size() > WalkBounds{}.depth)  // one descriptor is kept for each
        return plain_error("the cgroup '" + shortened(path) + "' lies too deep", "watch one of its ancestors");

    std::vector<CgroupDirectory> chain;
    auto root = open_directory(hierarchy.mount);
    if (!root) return failed(root.error(), "");
    auto taken = take(*std::move(root), "");
    if (!taken) return failed(taken.error(), "");
    chain.push_back(*std::move(taken));
    // Component by component from the parent's descriptor: the ancestors are those of this very cgroup, even if
    // somebody renames one of them meanwhile.
    for (const std::string_view component : components) {
        const std::string here = joined(chain.back().path(), component);
        auto child = open_directory_at(chain.back().fd(), std::string(component).c_str());
        if (!child) return failed(child.error(), here);
        taken = take(*std::move(child), here);
        if (!taken) return failed(taken.error(), here);
        chain.push_back(*std::move(taken));
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

Result<CgroupDirectory> CgroupDirectory::open(const CgroupHierarchy& hierarchy, const std::string& path) {
    auto chain = open_chain(hierarchy, path);
    if (!chain) return chain.error();
    return std::move(chain->front());
}

// Without opening the file: it must not depend on a free descriptor.
bool CgroupDirectory::exists() const {
    return ::faccessat(fd_.get(), "cgroup.procs", F_OK, 0) == 0 || (errno != ENOENT && errno != ENODEV);
}

Result<std::vector<CgroupDirectoryPtr>> SharedCgroups::open_chain(const std::string& path) {
    auto opened = CgroupDirectory::open_chain(hierarchy_, path);
    if (!opened) return opened.error();
    constexpr std::size_t kSweepFrom = 64;
    if (open_.size() > kSweepFrom + 2 * swept_size_) {
        std::erase_if(open_, [](const auto& entry) { return entry.second.expired(); });
        swept_size_ = open_.size();
    }
    std::vector<CgroupDirectoryPtr> chain;
    chain.reserve(opened->size());
    for (CgroupDirectory& directory : *opened) {
        auto& known = open_[directory.id()];
        CgroupDirectoryPtr shared = known.lock();
        // A directory of cgroup v1 can be renamed: then the two have one id and two paths.
        if (!shared || shared->path() != directory.path()) {
            shared = std::make_shared<const CgroupDirectory>(std::move(directory));
            known = shared;
        }
        chain.push_back(std::move(shared));
    }
    return chain;
}

}  // namespace memscope
