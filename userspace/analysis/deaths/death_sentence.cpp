#include "analysis/deaths/death_sentence.h"

#include <csignal>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

std::string named(const NamedProcess& process) {
    return fmt::format("{} (pid {})", printable(process.comm), process.pid);
}

// "python (pid 12, trainer, rank 3)"
std::string subject(const Death& death) {
    std::string role(name_of(death.role.role));
    for (char& letter : role)
        if (letter == '_') letter = ' ';
    std::string text = fmt::format("{} (pid {}", printable(death.comm), death.id.pid);
    if (death.role.role != Role::other) text += ", " + role;
    if (death.role.rank) text += fmt::format(", rank {}", *death.role.rank);
    return text + ")";
}

std::string limit_of(const OomKill& oom) {
    const std::string owner = oom.limit_owner.empty()    ? "its cgroup's limit"
                              : oom.limit_owner == "own" ? "its own limit"
                                                         : "the limit of " + printable(oom.limit_owner);
    return oom.limit ? fmt::format("{} of {}", owner, human_size(*oom.limit)) : owner;
}

std::string shortage(const OomKill& oom) {
    switch (oom.constraint) {
        case OomConstraint::cgroup:
            return "at " + limit_of(oom);
        case OomConstraint::host:
            return "because the machine had no memory left";
        case OomConstraint::cpuset:
            return "because the NUMA nodes of its cpuset had no memory left";
        case OomConstraint::mempolicy:
            return "because the NUMA nodes of its memory policy had no memory left";
        case OomConstraint::unknown:
            return "because memory ran out";
    }
    return "";
}

std::string oom_kill_text(const Death& death) {
    const OomKill& oom = *death.oom;
    std::string text = fmt::format("the kernel's OOM killer killed {} {}", subject(death), shortage(oom));
    if (death.rss_anon) text += fmt::format(", it held {}", human_size(*death.rss_anon));
    if (!oom.marked) return text + ", because it shared the memory of the victim";
    if (oom.whole_cgroup) text += ", together with its whole cgroup";
    if (oom.trigger && oom.trigger->pid != death.id.pid)
        text += fmt::format("; {} had asked for memory", named(*oom.trigger));
    return text;
}

std::string sender_text(const Death& death) {
    if (death.sent_by) {
        const std::string by = " from " + named(*death.sent_by);
        if (!death.sent_for.empty() && death.sent_for != death.sent_by->comm)
            return fmt::format("{}, {}", by, death.sent_for);
        return death.sender == DeathSender::tree ? by + ", a process of the same target" : by;
    }
    return death.sender == DeathSender::kernel ? " from the kernel" : "";
}

std::string place_of(const FullFile& file) {
    std::string text = printable(file.file_system);
    if (!file.mount.empty()) text += " at " + printable(file.mount);
    return text;
}

std::string sigbus_text(const Death& death) {
    std::string text = fmt::format("{} was ended by SIGBUS{}", subject(death), sender_text(death));
    if (!death.mapping) return text;
    const bool memory = death.mapping->file_system == "tmpfs" || death.mapping->file_system == "hugetlbfs";
    return fmt::format("{}: no {} for '{}' on the {}", text, memory ? "room" : "data", printable(death.mapping->name),
                       place_of(*death.mapping));
}

std::string alloc_failed_text(const Death& death) {
    const FailedAllocation& failed = *death.allocation;
    const std::string end =
        death.signal ? "was ended by " + signal_name(*death.signal) : fmt::format("exited with {}", *death.exit_status);
    std::string text = fmt::format("{} {} {:.1f} s after ", subject(death), end, failed.before_exit.count());
    if (failed.tensor) text += "PyTorch could not allocate " + human_size(*failed.tensor) + " of host memory";
    if (failed.call.empty()) return text;
    std::string call(failed.call);
    if (failed.size) call += " of " + human_size(*failed.size);
    call += failed.reason == "enospc" ? " failed, no space left" : " failed, no memory left";
    if (failed.file) call += " on the " + place_of(*failed.file);
    return text + (failed.tensor ? ": " + call : call);
}

std::string device_name(const GpuShortage& shortage) {
    if (shortage.index) return fmt::format("GPU {}", *shortage.index);
    return shortage.gpu.empty() ? "its GPU" : printable(shortage.gpu);
}

// "; python (pid 12) held 60.0 GiB, 3 other processes held 2.0 GiB": the largest holders, without the process itself.
std::string holders_text(const Death& death) {
    constexpr std::size_t kMostNamed = 3;
    std::string text;
    std::size_t named_so_far = 0;
    std::size_t others = 0;
    Bytes others_used;
    for (const GpuShortage::Holder& holder : death.gpu->holders) {
        if (holder.process.pid == death.id.pid || !holder.used) continue;
        if (named_so_far < kMostNamed) {
            text += fmt::format("{} {} held {}", named_so_far == 0 ? ";" : ",", named(holder.process),
                                human_size(*holder.used));
            ++named_so_far;
        } else {
            ++others;
            others_used += *holder.used;
        }
    }
    if (others > 0)
        text += fmt::format(", {} other {} held {}", others, others == 1 ? "process" : "processes",
                            human_size(others_used));
    return text;
}

// "1.0 GiB was free of 80 GiB", and the time of that reading, unless it was right after the failed call.
std::string free_text(const GpuShortage& shortage) {
    constexpr Seconds kAtTheCall{1};
    std::string text = fmt::format("{} was free", human_size(*shortage.free));
    if (shortage.total) text += fmt::format(" of {}", human_size(*shortage.total));
    const Seconds after = shortage.read_after.value_or(Seconds{});
    if (after < Seconds{}) text += fmt::format(" {:.1f} s before that call", -after.count());
    if (after > kAtTheCall) text += fmt::format(" {:.1f} s after that call", after.count());
    return text;
}

std::string cuda_oom_text(const Death& death) {
    const GpuShortage& shortage = *death.gpu;
    const std::string end =
        death.signal ? "was ended by " + signal_name(*death.signal) : fmt::format("exited with {}", *death.exit_status);
    std::string text = fmt::format("{} {} {:.1f} s after the CUDA driver had no {} for it", subject(death), end,
                                   shortage.before_exit.count(), human_size(shortage.size));
    if (shortage.of_host) return text + " of pinned host memory";
    text += " on " + device_name(shortage);
    if (shortage.asked_for_more_than_all())
        return text + fmt::format(": that is more than the whole GPU has ({})", human_size(*shortage.total));
    if (shortage.free) text += ": " + free_text(shortage);
    if (shortage.reserved && shortage.reserved->n > 0)
        text += fmt::format("{} it had reserved {} itself", shortage.free ? "," : ":", human_size(*shortage.reserved));
    return text + holders_text(death);
}

}  // namespace

std::string signal_name(int number) {
    const char* name = ::sigabbrev_np(number);
    return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::string death_sentence(const Death& death) {
    switch (death.cause) {
        case DeathCause::oom_kill:
            return oom_kill_text(death);
        case DeathCause::sigbus:
            return sigbus_text(death);
        case DeathCause::alloc_failed:
            return alloc_failed_text(death);
        case DeathCause::sigkill:
        case DeathCause::signal:
            return fmt::format("{} was {} by {}{}", subject(death),
                               death.cause == DeathCause::sigkill ? "killed" : "ended", signal_name(*death.signal),
                               sender_text(death));
        case DeathCause::cuda_oom:
            return cuda_oom_text(death);
    }
    return "";
}

}  // namespace memscope
