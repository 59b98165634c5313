#include "watch/self/self_protection.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "sources/cgroup/cgroup_path.h"

namespace memscope {

Result<int> own_oom_score(const SysRoot& root) {
    const fs::path path = root.proc / "self/oom_score_adj";
    const auto text = read_file(path);
    if (!text) return text.error();
    const std::string_view number = trimmed(*text);
    int score = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), score).ec != std::errc{})
        return plain_error(path.string() + ": is not a number");
    return score;
}

Status lower_own_oom_score(const SysRoot& root) {
    const auto score = own_oom_score(root);
    if (!score) return score.error();
    if (*score <= kOwnOomScore) return Done{};
    const fs::path path = root.proc / "self/oom_score_adj";
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::string wanted = std::to_string(kOwnOomScore);
    if (!file || ::write(file.get(), wanted.data(), wanted.size()) < 0)
        return system_error(errno, "write " + path.string());
    return Done{};
}

void allow_many_open_files() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &files);
}

bool is_near_open_file_limit(const Fd& newest) {
    constexpr rlim_t kMostReserved = 64;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return false;
    const rlim_t reserved = std::min(kMostReserved, files.rlim_cur / 8);
    return static_cast<rlim_t>(newest.get()) >= files.rlim_cur - reserved;
}

std::string own_cgroup_path(const SysRoot& root) {
    const auto hierarchy = find_hierarchy(root);
    if (!hierarchy) return "";
    const auto path = read_cgroup_path(root, ::getpid(), hierarchy->version);
    return path ? *path : "";
}

std::vector<std::string> targets_around(const Snapshot& snapshot, const std::string& cgroup) {
    std::vector<std::string> names;
    for (const TargetSnapshot& target : snapshot.targets) {
        const std::string& name = target.info.name;
        if (target.info.kind != "cgroup" || name.empty() || name == "/") continue;
        if (cgroup == name || cgroup.starts_with(name + "/")) names.push_back(name);
    }
    return names;
}

std::string inside_warning(const std::string& target) {
    return fmt::format(
        "memscope itself is inside {}, which it watches: its memory counts there, and the kernel may kill it there; "
        "start it outside of that cgroup (another shell, systemd-run, memscope.service)",
        printable(target));
}

}  // namespace memscope
