#include "sources/proc/descendants.h"

#include <map>

#include "base/text.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

constexpr std::size_t kStatLimit = 1024;

std::optional<ProcessStat> read_stat(const fs::path& directory) {
    const auto text = read_file(directory / "stat", kStatLimit);
    return text ? parse_process_stat(*text) : std::nullopt;
}

}  // namespace

std::vector<FoundProcess> descendants_of(pid_t pid, const std::vector<std::pair<FoundProcess, pid_t>>& parents) {
    std::multimap<pid_t, FoundProcess> children;
    std::vector<FoundProcess> found;
    for (const auto& [child, parent] : parents) {
        if (child.pid == pid) found.push_back(child);
        if (child.pid != parent) children.emplace(parent, child);
    }
    for (std::size_t i = 0; i < found.size() && found.size() <= parents.size() + 1; ++i) {
        const auto [begin, end] = children.equal_range(found[i].pid);
        // A child never starts before its parent. A process that started earlier has another parent, and its pid was
        // reused.
        for (auto it = begin; it != end; ++it)
            if (it->second.start >= found[i].start) found.push_back(it->second);
    }
    return found;
}

std::vector<FoundProcess> read_descendants(const SysRoot& root, pid_t pid) {
    std::vector<std::pair<FoundProcess, pid_t>> parents;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root.proc, ignored)) {
        const auto number = parse_number(entry.path().filename().native());
        if (!number) continue;
        if (const auto stat = read_stat(entry.path()))
            parents.push_back({{static_cast<pid_t>(*number), stat->start}, stat->parent});
    }
    return descendants_of(pid, parents);
}

bool still_lives(const SysRoot& root, const FoundProcess& process) {
    const fs::path directory = root.proc / std::to_string(process.pid);
    const auto leader = read_stat(directory);
    if (!leader || leader->start != process.start) return false;
    if (!leader->exiting) return true;
    // The first thread can exit long before the others.
    std::error_code ignored;
    for (const auto& thread : fs::directory_iterator(directory / "task", ignored))
        if (const auto stat = read_stat(thread.path()); stat && !stat->exiting) return true;
    return false;
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
