#include "sources/descendants.h"

#include <map>

#include "base/text.h"
#include "sources/cgroup_hierarchy.h"

namespace memscope {
namespace {

// The parent is the second field behind the name, which is in parentheses and may hold any.
std::optional<pid_t> parse_parent(std::string_view stat) {
    const auto end = stat.rfind(')');
    if (end == std::string_view::npos || end + 2 > stat.size()) return std::nullopt;
    const auto fields = split(stat.substr(end + 2), ' ');
    const auto parent = fields.size() > 1 ? parse_number(fields[1]) : std::nullopt;
    return parent ? std::optional(static_cast<pid_t>(*parent)) : std::nullopt;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t pid, const std::vector<std::pair<pid_t, pid_t>>& parents) {
    std::multimap<pid_t, pid_t> children;
    for (const auto& [child, parent] : parents)
        if (child != parent) children.emplace(parent, child);
    std::vector<pid_t> found{pid};
    for (std::size_t i = 0; i < found.size() && found.size() <= parents.size() + 1; ++i) {
        const auto [begin, end] = children.equal_range(found[i]);
        for (auto it = begin; it != end; ++it) found.push_back(it->second);
    }
    return found;
}

std::vector<pid_t> read_descendants(const SysRoot& root, pid_t pid) {
    std::vector<std::pair<pid_t, pid_t>> parents;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root.proc, ignored)) {
        const auto number = parse_number(entry.path().filename().native());
        if (!number) continue;
        const auto stat = read_file(entry.path() / "stat", 1024);
        const auto parent = stat ? parse_parent(*stat) : std::nullopt;
        if (parent) parents.emplace_back(static_cast<pid_t>(*number), *parent);
    }
    return descendants_of(pid, parents);
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

std::optional<std::string> read_cgroup_path(const SysRoot& root, pid_t pid, int version) {
    const auto text = read_file(root.proc / std::to_string(pid) / "cgroup");
    return text ? parse_cgroup_path(*text, version) : std::nullopt;
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
    std::string joined;
    for (const std::string_view part : common) joined += (joined.empty() ? "" : "/") + std::string(part);
    return joined;
}

}  // namespace memscope
