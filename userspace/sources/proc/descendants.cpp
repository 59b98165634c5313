#include "sources/proc/descendants.h"

#include <map>
#include <optional>

#include "base/text.h"
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
    // Checks all threads, because the first thread can exit long before the others.
    std::error_code ignored;
    for (const auto& thread : fs::directory_iterator(directory / "task", ignored))
        if (const auto stat = read_stat(thread.path()); stat && !stat->exiting) return true;
    return false;
}

}  // namespace memscope
