#include <algorithm>

#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Pairs that can occur. The kernel sends the signal of an OOM kill. A refused allocation involves no signal.
bool can_be(DeathCause cause, DeathSender sender) {
    switch (cause) {
        case DeathCause::oom_kill:
            return sender == DeathSender::kernel;
        case DeathCause::alloc_failed:
        case DeathCause::cuda_oom:
            return sender == DeathSender::none;
        default:
            return true;
    }
}

template <class Read>
void each_tally(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i) read(snapshot.targets[i].death_tally, labels[i]);
}

void oom_kills(const Snapshot& snapshot, Samples& out) {
    each_tally(snapshot, [&](const DeathTally& tally, const std::string& label) {
        for (const OomConstraint constraint : kOomConstraints)
            out.add({label, std::string(name_of(constraint))}, static_cast<double>(tally.of(constraint)));
    });
}

void deaths(const Snapshot& snapshot, Samples& out) {
    each_tally(snapshot, [&](const DeathTally& tally, const std::string& label) {
        for (const DeathCause cause : kDeathCauses)
            for (const DeathSender sender : kDeathSenders)
                if (can_be(cause, sender))
                    out.add({label, std::string(name_of(cause)), std::string(name_of(sender))},
                            static_cast<double>(tally.of(cause, sender)));
    });
}

void last_death(const Snapshot& snapshot, Samples& out) {
    each_tally(snapshot, [&](const DeathTally& tally, const std::string& label) {
        for (const DeathCause cause : kDeathCauses)
            if (const auto time = tally.last[static_cast<std::size_t>(cause)])
                out.add({label, std::string(name_of(cause))}, *time);
    });
}

constexpr Metric kDeathMetrics[] = {
    {"memscope_oom_kills_total",
     kCounter,
     "Processes of the target that the kernel's OOM killer chose, by the constraint whose memory was exhausted "
     "(cgroup, "
     "host, cpuset, mempolicy, unknown).",
     {"target", "constraint"},
     oom_kills},
    {"memscope_deaths_total",
     kCounter,
     "Deaths of processes of the target, by cause (oom_kill, sigkill, sigbus, signal, alloc_failed, cuda_oom) and by "
     "the sender of the signal: tree (the job ends its own processes), outside (a process outside of the job), kernel, "
     "none (no sender, or not known).",
     {"target", "cause", "sender"},
     deaths},
    {"memscope_last_death_timestamp_seconds",
     kGauge,
     "When a process of the target last died of that cause, seconds since 1970; absent while none has.",
     {"target", "cause"},
     last_death},
};

}  // namespace

std::span<const Metric> death_metrics() { return kDeathMetrics; }

}  // namespace memscope
