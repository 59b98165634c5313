#include "analysis/roles/watch_candidates.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "analysis/roles/job_name.h"
#include "analysis/roles/roles.h"

namespace memscope {
namespace {

constexpr Bytes kLeast{std::uint64_t{64} << 20U};  // Python programs of the system are smaller than training jobs
constexpr std::size_t kHighestTree = 64;           // levels that are climbed; parents could form a cycle

// True for a process that starts jobs of many users or of a whole session, so that it does not belong to any of these
// jobs.
bool is_session_manager(const ListedProcess& process) {
    constexpr std::array<std::string_view, 14> kNames{"systemd", "init",   "login",      "screen",      "SCREEN",
                                                      "zellij",  "cron",   "crond",      "supervisord", "runsv",
                                                      "conmon",  "slurmd", "slurmstepd", "dockerd"};
    constexpr std::array<std::string_view, 4> kPrefixes{"sshd", "tmux", "containerd-shim", "jupyterhub"};
    if (process.id.pid == 1) return true;
    const std::string_view comm = process.comm;
    return std::ranges::find(kNames, comm) != kNames.end() ||
           std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return comm.starts_with(prefix); });
}

// A shell in which a user types: it has no script and no code.
bool is_interactive_shell(const ListedProcess& process) {
    constexpr std::array<std::string_view, 6> kShells{"bash", "sh", "dash", "zsh", "ksh", "fish"};
    if (process.argv.empty()) return false;
    std::string_view program = base_name(process.argv.front());
    if (program.starts_with('-')) program.remove_prefix(1);
    return std::ranges::find(kShells, program) != kShells.end() &&
           std::all_of(process.argv.begin() + 1, process.argv.end(), [](const std::string& argument) {
               return argument.starts_with('-') && argument.find('c') == std::string::npos;
           });
}

// True if `cgroup` is `other` or below it. A process in the cgroup of its launcher, or below it, belongs to the job of
// the launcher. A process in any other cgroup starts a job of its own.
bool is_below(const std::string& cgroup, const std::string& other) {
    return cgroup == other || (!other.empty() && cgroup.starts_with(other + "/"));
}

class Forest {
  public:
    explicit Forest(std::span<const ListedProcess> processes) : processes_(processes) {
        std::vector<RoleDecider::Subject> subjects;
        subjects.reserve(processes.size());
        for (std::size_t i = 0; i < processes.size(); ++i) {
            const ListedProcess& each = processes[i];
            index_.emplace(each.id.pid, i);
            subjects.push_back({.id = each.id,
                                .parent = each.parent,
                                .comm = each.comm,
                                .argv = &each.argv,
                                .forked_without_exec = each.forked_without_exec,
                                .own_memory = each.memory.n > 0});
        }
        roles_ = RoleDecider().decide(subjects);
        for (std::size_t i = 0; i < processes.size(); ++i)
            if (const auto parent = parent_of(i)) children_[*parent].push_back(i);
    }

    // A child never starts before its parent: otherwise the pid of the parent was used again.
    std::optional<std::size_t> parent_of(std::size_t i) const {
        const auto found = index_.find(processes_[i].parent);
        if (found == index_.end() || found->second == i) return std::nullopt;
        if (processes_[found->second].id.start_ns > processes_[i].id.start_ns) return std::nullopt;
        return found->second;
    }

    // The process that started the job: the highest trainer above it, and the launchers above that one.
    std::size_t top_of(std::size_t i) const {
        std::size_t top = i;
        for (std::size_t level = 0; level < kHighestTree; ++level) {
            const auto parent = parent_of(top);
            if (!parent || is_session_manager(processes_[*parent]) || is_interactive_shell(processes_[*parent])) break;
            const Role role = roles_[*parent].role;
            if (role != Role::launcher && role != Role::trainer) break;
            if (!is_below(processes_[top].cgroup, processes_[*parent].cgroup)) break;
            top = *parent;
        }
        return top;
    }

    // `tops`: the first process of each job. tree_of() then leaves out the trees of other jobs.
    void separate(std::set<std::size_t> tops) { tops_ = std::move(tops); }

    std::set<std::size_t> tree_of(std::size_t top) const {
        std::vector<std::size_t> found{top};
        std::set<std::size_t> seen{top};
        for (std::size_t i = 0; i < found.size(); ++i)
            if (const auto children = children_.find(found[i]); children != children_.end())
                for (const std::size_t child : children->second)
                    if (!tops_.contains(child) && seen.insert(child).second) found.push_back(child);
        return seen;
    }

    WatchCandidate candidate(std::size_t top) const {
        const auto tree = tree_of(top);
        WatchCandidate job{.name = job_name(processes_[top].comm, processes_[top].argv),
                           .pid = processes_[top].id.pid,
                           .processes = tree.size()};
        for (const std::size_t i : tree) {
            job.memory += processes_[i].memory;
            job.trains |= roles_[i].role == Role::trainer;
        }
        return job;
    }

    // Reads the cgroups of all processes, so it is called only for the jobs that are returned.
    void find_cgroup(WatchCandidate& job) const {
        const std::size_t top = index_.at(job.pid);
        job.cgroup = cgroup_of(top, tree_of(top));
    }

    Role role(std::size_t i) const { return roles_[i].role; }

  private:
    // The cgroup that contains the job, if it contains nothing else but the processes that started the job.
    std::string cgroup_of(std::size_t top, const std::set<std::size_t>& tree) const {
        const std::string& path = processes_[top].cgroup;
        if (path.empty()) return {};
        const auto inside = [&](std::size_t i) { return is_below(processes_[i].cgroup, path); };
        std::set<std::size_t> starters;
        std::size_t above = top;
        for (std::size_t level = 0; level < kHighestTree; ++level) {
            const auto parent = parent_of(above);
            if (!parent || is_interactive_shell(processes_[*parent])) break;
            above = *parent;
            starters.insert(above);
        }
        for (const std::size_t i : tree)
            if (!inside(i)) return {};
        for (std::size_t i = 0; i < processes_.size(); ++i)
            if (inside(i) && !tree.contains(i) && !starters.contains(i)) return {};
        return path;
    }

    std::span<const ListedProcess> processes_;
    std::map<pid_t, std::size_t> index_{};
    std::map<std::size_t, std::vector<std::size_t>> children_{};
    std::vector<RoleKey> roles_{};
    std::set<std::size_t> tops_{};
};

}  // namespace

std::vector<WatchCandidate> find_candidates(std::span<const ListedProcess> processes, std::size_t most) {
    Forest forest(processes);
    std::set<std::size_t> tops;
    for (std::size_t i = 0; i < processes.size(); ++i)
        if (forest.role(i) == Role::trainer) tops.insert(forest.top_of(i));
    forest.separate(tops);
    std::vector<WatchCandidate> found;
    for (const std::size_t top : tops)
        if (WatchCandidate job = forest.candidate(top); job.memory >= kLeast) found.push_back(std::move(job));
    if (found.empty())
        for (std::size_t i = 0; i < processes.size(); ++i)
            if (processes[i].memory >= kLeast && processes[i].id.pid != 1)
                if (WatchCandidate job = forest.candidate(i); !job.trains) found.push_back(std::move(job));
    std::ranges::sort(found, [](const WatchCandidate& a, const WatchCandidate& b) {
        return a.memory != b.memory ? a.memory > b.memory : a.pid < b.pid;
    });
    if (found.size() > most) found.resize(most);
    for (WatchCandidate& job : found) forest.find_cgroup(job);
    return found;
}

}  // namespace memscope
