#include "watch/deaths/death_lookups.h"

#include "base/text.h"
#include "sources/cgroup/cgroup_path.h"
#include "sources/proc/mountinfo.h"

namespace memscope {

MachineLookups::MachineLookups(SysRoot root, CgroupHierarchy hierarchy)
    : root_(std::move(root)), hierarchy_(std::move(hierarchy)) {
    if (auto log = KernelLog::open(root_)) log_ = std::move(*log);
}

DeathLookups MachineLookups::lookups() {
    return {
        .kernel_log =
            [this] {
                std::vector<LoggedOomKill> kills;
                if (log_) log_->take([&](const LoggedOomKill& kill) { kills.push_back(kill); });
                return kills;
            },
        .cgroup_path = [this](CgroupId id, const std::string& near) { return cgroup_path_of(hierarchy_, id, near); },
        .mount_point = [this](
                           std::uint32_t device,
                           const std::vector<pid_t>& processes) { return mount_of_device(root_, device, processes); },
        .comm = [this](pid_t pid) -> std::optional<std::string> {
            const auto comm = read_file(root_.proc / std::to_string(pid) / "comm", 64);
            return comm ? std::optional<std::string>(trimmed(*comm)) : std::nullopt;
        },
        .gpus = {}};
}

}  // namespace memscope
