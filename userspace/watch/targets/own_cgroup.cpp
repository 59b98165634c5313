#include "watch/targets/own_cgroup.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace memscope {
namespace {

Status write_file_at(const Fd& directory, const char* name, const std::string& text) {
    const Fd file(::openat(directory.get(), name, O_WRONLY | O_CLOEXEC));
    if (!file) return system_error(errno, std::string("open ") + name);
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return system_error(errno, fmt::format("write {} to {}", text, name));
    return Done{};
}

Status set_limit(const Fd& directory, int version, Bytes limit) {
    const std::string bytes = std::to_string(limit.n);
    // No swap, so that the kernel kills at the limit. Machines without swap accounting lack the file.
    if (version == 1) {
        if (auto set = write_file_at(directory, "memory.limit_in_bytes", bytes); !set) return set;
        (void)write_file_at(directory, "memory.memsw.limit_in_bytes", bytes);
        return Done{};
    }
    if (auto set = write_file_at(directory, "memory.max", bytes); !set) return set;
    (void)write_file_at(directory, "memory.swap.max", "0");
    return Done{};
}

void kill_members(const fs::path& cgroup) {
    const auto members = read_file(cgroup / "cgroup.procs");
    if (!members) return;
    for_each_line(*members, [](std::string_view line) {
        // 0 is a process of another PID namespace. kill(0) would kill our own process group.
        if (const auto pid = parse_number(line); pid && *pid > 1) ::kill(static_cast<pid_t>(*pid), SIGKILL);
    });
}

// The cgroup and all cgroups below it, innermost first, because a command can create cgroups of any depth.
std::vector<fs::path> from_below(const fs::path& cgroup) {
    constexpr std::size_t kMost = 4096;
    std::vector<fs::path> found{cgroup};
    std::error_code gone;
    for (std::size_t i = 0; i < found.size() && found.size() < kMost; ++i)
        for (const auto& entry : fs::directory_iterator(fs::path(found[i]), gone))
            if (entry.is_directory(gone) && !entry.is_symlink(gone)) found.push_back(entry.path());
    std::ranges::reverse(found);
    return found;
}

bool remove_with_children(const fs::path& cgroup) {
    bool removed = true;
    for (const fs::path& each : from_below(cgroup)) removed = ::rmdir(each.c_str()) == 0 || errno == ENOENT;
    return removed;  // the last cgroup of the list is `cgroup` itself
}

}  // namespace

Result<OwnCgroup> OwnCgroup::make(const CgroupHierarchy& hierarchy, const std::string& name,
                                  std::optional<Bytes> limit) {
    const std::string own_name = fmt::format("{}-{}", name, ::getpid());
    const fs::path path = hierarchy.mount / own_name;
    if (hierarchy.version == 2)  // usually enabled already; if this fails, setting the limit reports the error
        if (auto top = open_directory(hierarchy.mount)) (void)write_file_at(*top, "cgroup.subtree_control", "+memory");
    if (::mkdir(path.c_str(), 0755) != 0) return system_error(errno, "make the cgroup " + path.string());
    auto directory = open_directory(path);
    if (!directory) return directory.error();
    OwnCgroup own(hierarchy.mount, own_name, std::move(*directory));
    if (limit)
        if (auto set = set_limit(own.directory_, hierarchy.version, *limit); !set) return set.error();
    return own;
}

OwnCgroup::~OwnCgroup() {
    if (!directory_) return;
    const fs::path path = parent_ / name_;
    for (int i = 0; i < 50; ++i) {
        for (const fs::path& each : from_below(path)) kill_members(each);
        if (remove_with_children(path)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // killed processes need time to exit
    }
}

Status OwnCgroup::enter() { return write_file_at(directory_, "cgroup.procs", "0"); }

void OwnCgroup::remove_left_behind(const CgroupHierarchy& hierarchy, const std::string& name) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(hierarchy.mount, ignored)) {
        const std::string found = entry.path().filename();
        if (!found.starts_with(name + "-")) continue;
        const auto pid = parse_number(std::string_view(found).substr(name.size() + 1));
        if (pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) (void)remove_with_children(entry.path());
    }
}

}  // namespace memscope
