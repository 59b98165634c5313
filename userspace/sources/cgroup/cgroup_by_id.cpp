#include "sources/cgroup/cgroup_by_id.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

namespace memscope {
namespace {

constexpr int kKernfsHandle = 0xFE;  // FILEID_KERNFS: the handle is the id

std::optional<std::string> path_from(const CgroupHierarchy& hierarchy, CgroupId id, std::string path) {
    for (;;) {
        struct stat status{};
        if (::stat((hierarchy.mount / path).c_str(), &status) == 0 && CgroupId{status.st_ino} == id) return path;
        if (path.empty()) return std::nullopt;
        const auto cut = path.rfind('/');
        path.resize(cut == std::string::npos ? 0 : cut);
    }
}

}  // namespace

std::optional<std::string> cgroup_path_of(const CgroupHierarchy& hierarchy, CgroupId id, const std::string& near) {
    if (id == kNoCgroup) return std::nullopt;
    if (!near.starts_with('/'))
        if (auto path = path_from(hierarchy, id, near)) return path;
    const auto mount = open_directory(hierarchy.mount);
    if (!mount) return std::nullopt;
    alignas(file_handle) char bytes[sizeof(file_handle) + sizeof id];
    auto* handle = reinterpret_cast<file_handle*>(bytes);
    handle->handle_bytes = sizeof id;
    handle->handle_type = kKernfsHandle;
    std::memcpy(bytes + sizeof(file_handle), &id, sizeof id);
    const Fd directory(::open_by_handle_at(mount->get(), handle, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory) return std::nullopt;
    std::error_code error;
    const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(directory.get()), error);
    const fs::path below = path.lexically_relative(hierarchy.mount);
    if (error || below.empty() || *below.begin() == "..") return std::nullopt;
    return below == "." ? std::string() : below.string();
}

}  // namespace memscope
