#include "watch/self/least_privilege.h"

#include <algorithm>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "outputs/http/listen.h"

namespace memscope {
namespace {

constexpr std::uint16_t kFirstFreePort = 1024;  // binding to a lower port needs CAP_NET_BIND_SERVICE

// Joins the group `memscope`, because the status socket is given to this group later. Only a member may do that without
// CAP_CHOWN, which is as powerful as root.
void join_group() {
    const group* memscope = ::getgrnam("memscope");
    if (!memscope) return;
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
    if (::getgroups(static_cast<int>(groups.size()), groups.data()) < 0) return;
    groups.push_back(memscope->gr_gid);
    (void)::setgroups(groups.size(), groups.data());  // without it only root can query this watcher
}

// Removes all capabilities except `kept` from the bounding set, so that no program that this process starts can get
// them. Needs CAP_SETPCAP. A service manager has usually done this already.
void limit_bounds(CapabilitySet kept) {
    for (int number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number)
        if (!kept.has(number)) (void)::prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
}

}  // namespace

CapabilitySet needed_capabilities(const WatchOptions& options, CapabilitySet permitted) {
    CapabilitySet wanted;
    for (const CapabilityUse& use : capability_uses()) wanted = wanted.with(use.number);
    // The command may run as another user: signals are passed on to it, and the processes that it leaves are killed.
    if (!options.command.empty()) wanted = wanted.with(CAP_KILL);
    // memscope removes its own cgroup at the end. The root directory of the hierarchy has no write bit for any user.
    if (options.own_cgroup) wanted = wanted.with(CAP_DAC_OVERRIDE);
    if (options.listen)
        if (const auto address = parse_listen(*options.listen); address && address->port < kFirstFreePort)
            wanted = wanted.with(CAP_NET_BIND_SERVICE);
    return {(wanted.bits & permitted.bits) | probing_capabilities(permitted, false).bits};
}

Status keep_only(CapabilitySet kept) {
    if (::geteuid() == 0) join_group();
    return limit_to(kept);
}

// CAP_PERFMON: recent kernels allow reading maps and environment of other users with it, without CAP_SYS_PTRACE.
CapabilitySet reading_capabilities(CapabilitySet permitted) {
    return {CapabilitySet{}.with(CAP_SYS_PTRACE).with(CAP_DAC_READ_SEARCH).with(CAP_PERFMON).bits & permitted.bits};
}

// CAP_SYS_ADMIN replaces CAP_BPF and CAP_PERFMON if only CAP_SYS_ADMIN was granted. Kernels before 6.6 attach user
// probes one at a time. Some of these kernels (with a fix of 2025) require CAP_SYS_ADMIN for that, even if a process
// has both other capabilities.
CapabilitySet probing_capabilities(CapabilitySet permitted, bool one_by_one) {
    CapabilitySet wanted = CapabilitySet{}.with(CAP_BPF).with(CAP_PERFMON);
    if (one_by_one || !permitted.has(CAP_BPF) || !permitted.has(CAP_PERFMON)) wanted = wanted.with(CAP_SYS_ADMIN);
    return {wanted.bits & permitted.bits};
}

Status limit_to(CapabilitySet kept) {
    limit_bounds(kept);
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i)
        sets[i].effective = sets[i].permitted = static_cast<__u32>(kept.bits >> (32 * i));
    if (::syscall(SYS_capset, &header, &sets) != 0) return system_error(errno, "give up capabilities");
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error(errno, "refuse new privileges");
    return Done{};
}

Status drop_privileges(const SysRoot& root, const WatchOptions& options) {
    const auto status = read_file(root.proc / "self/status");
    if (!status) return status.error();
    return keep_only(needed_capabilities(options, parse_capabilities(*status, "CapPrm")));
}

}  // namespace memscope
