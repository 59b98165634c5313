#include "watch/targets/process_target.h"

#include <fmt/format.h>
#include <set>

#include "analysis/roles/job_name.h"
#include "base/text.h"
#include "sources/cgroup/cgroup_memory.h"
#include "sources/cgroup/cgroup_path.h"
#include "sources/cgroup/memory_parts.h"
#include "sources/proc/descendants.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

// The memory of the smallest cgroup with the memory controller that contains the whole tree. That cgroup may contain
// other processes too.
class MemoryOfTree : public TargetMemory {
  public:
    MemoryOfTree(SysRoot root, CgroupHierarchy hierarchy) : root_(std::move(root)), hierarchy_(std::move(hierarchy)) {}

    Result<MemoryState> sample(const HostMemory& host, const std::vector<Process>& processes) override {
        if (auto followed = follow(processes); !followed) return followed.error();
        if (!memory_) {
            auto opened = CgroupMemory::open(hierarchy_, path_, root_);
            if (!opened) return opened.error();
            memory_.emplace(std::move(*opened));
        }
        auto state = memory_->sample(host, countable_kernel_memory(processes));
        if (!state && is_out_of_descriptors(state.error())) return state.error();  // the cgroup is still there
        if (!state) {
            memory_.reset();  // the tree has moved to another cgroup; the next tick looks it up
            return plain_error("the cgroup of the tree was removed");
        }
        claim(*state);
        return state;
    }

  private:
    // Reads the cgroup paths again only when the set of cgroups that contain the tree has changed. Fails if no file
    // descriptor is left: then the paths are read at the next tick.
    Status follow(const std::vector<Process>& processes) {
        std::set<CgroupId> cgroups;
        for (const Process& process : processes) cgroups.insert(process.task.cgroup);
        if (cgroups.empty() || cgroups == cgroups_) return Done{};
        std::set<CgroupId> without_path = cgroups;
        std::vector<std::string> paths;
        for (const Process& process : processes) {
            if (!without_path.contains(process.task.cgroup)) continue;
            const auto path = read_cgroup_path(root_, process.task.id.pid, hierarchy_.version);
            if (!path && is_out_of_descriptors(path.error())) return path.error();
            if (!path) continue;  // the process has ended
            without_path.erase(process.task.cgroup);
            paths.push_back(*path);
        }
        if (paths.empty()) return Done{};
        cgroups_ = std::move(cgroups);
        if (const std::string common = common_cgroup(paths); common != path_) {
            path_ = common;
            memory_.reset();
        }
        return Done{};
    }

    void claim(MemoryState& state) const {
        const std::string shown = path_.empty() ? "/" : path_;
        if (state.measured_at.empty()) state.measured_at = shown;
        state.limit = Unlimited{};  // a tree of processes has no limit of its own
        for (LimitCandidate& candidate : state.candidates)
            if (candidate.owner == "own") candidate.owner = shown;
        if (state.effective && state.effective->owner == "own") state.effective->owner = shown;
    }

    SysRoot root_;
    CgroupHierarchy hierarchy_;
    std::set<CgroupId> cgroups_;
    std::string path_;
    std::optional<CgroupMemory> memory_;
};

// The thread group of a pid. Needed because /proc also has a directory for each thread id, although it does not list
// these directories.
std::optional<pid_t> thread_group_of(const SysRoot& root, pid_t pid) {
    std::optional<pid_t> group;
    if (const auto status = read_file(root.proc / std::to_string(pid) / "status"))
        for_each_line(*status, [&](std::string_view line) {
            constexpr std::string_view kKey = "Tgid:";
            if (!line.starts_with(kKey)) return;
            if (const auto number = parse_number(trimmed(line.substr(kKey.size()))))
                group = static_cast<pid_t>(*number);
        });
    return group;
}

}  // namespace

Result<std::unique_ptr<ProcessTarget>> ProcessTarget::open(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                           pid_t pid, const ReadArgv& read_argv) {
    const auto comm = read_file(root.proc / std::to_string(pid) / "comm", 64);
    if (!comm) return plain_error(fmt::format("no process has the pid {}", pid), "`ps` lists the pids");
    if (const auto leader = thread_group_of(root, pid); leader && *leader != pid)
        return plain_error(fmt::format("{} is a thread, not a process", pid), fmt::format("--pid {}", *leader));
    const auto id = process_with(root, pid);
    NewTarget tree{.id = kTree,
                   .info = {.name = "pid:" + job_name(trimmed(*comm), id ? read_argv(*id) : std::vector<std::string>{}),
                            .kind = "pid",
                            .cgroup_version = hierarchy.version,
                            .pid = pid},
                   .memory = std::make_unique<MemoryOfTree>(root, hierarchy)};
    return std::unique_ptr<ProcessTarget>(new ProcessTarget(std::move(tree)));
}

TargetSource::Changes ProcessTarget::refresh() {
    Changes changes;
    if (tree_) changes.added.push_back(*std::move(tree_));
    tree_.reset();
    return changes;
}

Status follow_tree(const SysRoot& root, pid_t pid, const FollowedPids& map) {
    // If the parent of a new process was not in the map yet, the next scan of /proc finds the process. If a tree forks
    // so fast that this many scans are not enough, further scans would not help either.
    constexpr int kMostScans = 100;
    std::set<FoundProcess> seen;
    std::optional<FoundProcess> top;
    std::size_t followed = 0;
    for (int scan = 0; scan < kMostScans; ++scan) {
        const std::vector<FoundProcess> found = read_descendants(root, pid);
        if (found.empty()) break;
        if (!top) top = found.front();
        if (found.front() != *top) break;  // it has ended, and another process has its pid
        bool any_new = false;
        for (const FoundProcess& process : found) {
            if (!seen.insert(process).second) continue;
            any_new = true;
            if (auto added = map.add(process.pid); !added) return added;
            if (still_lives(root, process))
                ++followed;
            else
                map.remove(process.pid);
        }
        if (!any_new) break;
    }
    if (followed == 0) return plain_error(fmt::format("the process with the pid {} has ended", pid));
    return Done{};
}

}  // namespace memscope
