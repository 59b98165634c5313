#include "sources/cgroup/cgroup_path.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <sys/stat.h>

#include "base/text.h"
#include "sources/cgroup/cgroup_glob.h"

namespace memscope {
namespace {

constexpr std::size_t kLongestPath = 4095;      // PATH_MAX without its NUL
constexpr std::size_t kLongestComponent = 255;  // NAME_MAX

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// The rest of `path` after `directory`. None if `path` is neither that directory nor below it.
std::optional<std::string_view> below(std::string_view path, std::string_view directory) {
    if (!path.starts_with(directory)) return std::nullopt;
    path.remove_prefix(directory.size());
    if (path.empty() || path.front() == '/' || directory.ends_with('/')) return path;
    return std::nullopt;
}

Result<std::string_view> relative_to_hierarchy(std::string_view typed, const CgroupHierarchy& hierarchy) {
    if (!typed.starts_with('/')) return typed;
    if (const auto inside = below(typed, hierarchy.mount.native())) return *inside;
    if (below(typed, (SysRoot{}.sys / "fs/cgroup").native()))
        return plain_error(
            fmt::format("'{}' is not in the hierarchy of the memory controller", shortened(typed)),
            fmt::format("the memory controller is on {}: name a directory below it", hierarchy.mount.native()));
    return typed;
}

// Edit distance, or none if it is above `most`. Computes only the band of the table that can be within `most`, because
// names are untrusted input and there may be thousands of them.
std::optional<std::size_t> distance(std::string_view a, std::string_view b, std::size_t most) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > most) return std::nullopt;
    const std::size_t far = most + 1;
    std::vector<std::size_t> above(b.size() + 1, far), row(b.size() + 1, far);
    for (std::size_t j = 0; j <= std::min(b.size(), most); ++j) above[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        const std::size_t first = i > most ? i - most : 0, last = std::min(b.size(), i + most);
        if (first > 0) row[first - 1] = far;
        for (std::size_t j = first; j <= last; ++j) {
            if (j == 0) {
                row[0] = i;
                continue;
            }
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, j < i + most ? above[j] + 1 : far, row[j - 1] + 1, far});
        }
        std::swap(above, row);
    }
    return above[b.size()] <= most ? std::optional(above[b.size()]) : std::nullopt;
}

// 0: the same name. None: not similar.
std::optional<std::size_t> unlikeness(std::string_view wanted, std::string_view name) {
    constexpr std::size_t kTypos = 3, kShortestPart = 3;
    if (const auto typos = distance(wanted, name, std::min(1 + wanted.size() / 4, kTypos))) return typos;
    const bool part = (wanted.size() >= kShortestPart && name.find(wanted) != std::string_view::npos) ||
                      (name.size() >= kShortestPart && wanted.find(name) != std::string_view::npos);
    return part ? std::optional(kTypos + 1) : std::nullopt;
}

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

Result<CgroupName> parse_cgroup_name(std::string_view typed, const CgroupHierarchy& hierarchy) {
    if (typed.empty()) return plain_error("the name of the cgroup is empty", "write --cgroup train, or / for the root");
    if (typed.size() > kLongestPath)
        return plain_error(fmt::format("the name of the cgroup is {} bytes long", typed.size()),
                           fmt::format("the kernel accepts at most {} bytes", kLongestPath));
    if (std::any_of(typed.begin(), typed.end(), is_control))
        return plain_error(fmt::format("the cgroup name '{}' has a control character in it", shortened(typed)),
                           "write the name on one line without it");
    const auto relative = relative_to_hierarchy(typed, hierarchy);
    if (!relative) return relative.error();

    CgroupName name;
    for (const std::string_view component : split(*relative, '/')) {
        if (component.empty()) continue;
        if (component == "." || component == "..")
            return plain_error(fmt::format("the cgroup name '{}' has '{}' in it", shortened(typed), component),
                               "write the path from the root of the hierarchy");
        if (component.size() > kLongestComponent)
            return plain_error(
                fmt::format("'{}' in the cgroup name is {} bytes long", shortened(component), component.size()),
                fmt::format("a directory name has at most {} bytes", kLongestComponent));
        name.path = joined(name.path, component);
    }
    name.glob = has_wildcard(name.path);
    return name;
}

std::string_view last_component(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string joined(std::string_view path, std::string_view name) {
    std::string out(path);
    if (!out.empty()) out += '/';
    return out += name;
}

std::optional<std::string> parse_cgroup_path(std::string_view proc_pid_cgroup, int version) {
    std::optional<std::string> found;
    for_each_line(proc_pid_cgroup, [&](std::string_view line) {  // hierarchy:controllers:/path
        const auto first = line.find(':');
        const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos || found) return;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const bool ours = version == 2 ? line.starts_with("0:") && controllers.empty() : names_memory(controllers, ',');
        if (!ours) return;
        std::string_view path = line.substr(second + 1);
        while (path.starts_with('/')) path.remove_prefix(1);
        constexpr std::string_view kGone = " (deleted)";
        if (path.ends_with(kGone)) path.remove_suffix(kGone.size());
        found = std::string(path);
    });
    return found;
}

Result<std::string> read_cgroup_path(const SysRoot& root, pid_t pid, int version) {
    const fs::path file = root.proc / std::to_string(pid) / "cgroup";
    const auto text = read_file(file);
    if (!text) return text.error();
    auto path = parse_cgroup_path(*text, version);
    if (!path) return plain_error("no cgroup of the memory controller in " + file.native());
    return *std::move(path);
}

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

std::string common_cgroup(const std::vector<std::string>& paths) {
    if (paths.empty()) return "";
    std::vector<std::string_view> common = split(paths.front(), '/');
    for (const std::string& path : paths) {
        const auto parts = split(path, '/');
        std::size_t same = 0;
        while (same < common.size() && same < parts.size() && common[same] == parts[same]) ++same;
        common.resize(same);
    }
    std::string path;
    for (const std::string_view part : common) path = joined(path, part);
    return path;
}

std::vector<std::string> similar_names(std::string_view wanted, const std::vector<std::string>& existing,
                                       std::size_t most) {
    std::vector<std::pair<std::size_t, std::string_view>> likely;
    for (const std::string& path : existing)
        if (const auto score = unlikeness(last_component(wanted), last_component(path)))
            likely.emplace_back(*score, path);
    std::sort(likely.begin(), likely.end());
    if (likely.size() > most) likely.resize(most);
    std::vector<std::string> names;
    names.reserve(likely.size());
    for (const auto& [score, path] : likely) names.emplace_back(path);
    return names;
}

}  // namespace memscope
