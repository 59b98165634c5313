#include <algorithm>

#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Calls read(target, label) for each target.
template <class Read>
void each_target(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i) read(snapshot.targets[i], labels[i]);
}

// A size of each target's memory.
template <auto member>
void memory_bytes(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        out.add({label}, number(target.memory.*member));
    });
}

void peak(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.memory.peak) out.add({label}, number(*target.memory.peak));
    });
}

void target_info(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        out.add({label, target.info.kind, std::to_string(target.info.cgroup_version)}, 1);
    });
}

void target_up(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot,
                [&](const TargetSnapshot& target, const std::string& label) { out.add({label}, target.up ? 1 : 0); });
}

void limit(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (const auto bytes = finite(target.memory.limit)) out.add({label}, number(*bytes));
    });
}

void effective_limit(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.memory.effective) out.add({label}, number(target.memory.effective->limit));
    });
}

void headroom(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.memory.effective) out.add({label}, number(target.memory.effective->headroom));
    });
}

void limit_owner(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.memory.effective) add_owner(out, label, target.memory.effective->owner);
    });
}

void by_kind(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        const MemoryByKind& kinds = target.memory.by_kind;
        out.add({label, "anon"}, number(kinds.anon));
        out.add({label, "shmem"}, number(kinds.shmem));
        out.add({label, "file"}, number(kinds.file));
        out.add({label, "kernel"}, number(kinds.kernel));
        out.add({label, "other"}, number(kinds.other));
    });
}

void events(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (!target.memory.events) return;
        const MemoryEvents& counts = *target.memory.events;
        out.add({label, "low"}, number(counts.low));
        out.add({label, "high"}, number(counts.high));
        out.add({label, "max"}, number(counts.max));
        out.add({label, "oom"}, number(counts.oom));
        out.add({label, "oom_kill"}, number(counts.oom_kill));
        out.add({label, "oom_group_kill"}, number(counts.oom_group_kill));
    });
}

void pressure(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (!target.memory.pressure) return;
        out.add({label, "some"}, target.memory.pressure->some.count());
        out.add({label, "full"}, target.memory.pressure->full.count());
    });
}

void reclaim_stalls(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.reclaim) out.add({label}, target.reclaim->total().count());
    });
}

void precursors(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        for (const PrecursorKind kind : kPrecursorKinds) {
            const bool on = std::ranges::find(target.precursors, kind, &Precursor::kind) != target.precursors.end();
            out.add({label, std::string(name_of(kind))}, on ? 1 : 0);
        }
    });
}

void precursors_of_host(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        for (const PrecursorKind kind : {PrecursorKind::eta, PrecursorKind::near_limit}) {
            const auto found = std::ranges::find(target.precursors, kind, &Precursor::kind);
            out.add({label, std::string(name_of(kind))}, found != target.precursors.end() && found->of_host ? 1 : 0);
        }
    });
}

template <auto member>
void shm_bytes(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const TargetSnapshot& target, const std::string& label) {
        if (target.shm) out.add({label}, number((*target.shm).*member));
    });
}

constexpr Metric kTargetMetrics[] = {
    {"memscope_target_info",
     kGauge,
     "Kind and cgroup version of the target: always 1.",
     {"target", "kind", "cgroup_version"},
     target_info},
    {"memscope_target_up",
     kGauge,
     "1 while the target exists, 0 after it has ended, while its last values are still exported.",
     {"target"},
     target_up},
    {"memscope_memory_usage_bytes",
     kGauge,
     "Memory charged to the target, page cache included.",
     {"target"},
     memory_bytes<&MemoryState::usage>},
    {"memscope_memory_peak_bytes",
     kGauge,
     "The kernel's own high-water mark since the target was created, page cache included; absent if the kernel has "
     "none.",
     {"target"},
     peak},
    {"memscope_memory_limit_bytes", kGauge, "The target's own memory limit; absent if it has none.", {"target"}, limit},
    {"memscope_memory_effective_limit_bytes",
     kGauge,
     "The limit with the least headroom that can kill the target: its own, an ancestor's or the host's; absent if "
     "there is none.",
     {"target"},
     effective_limit},
    {"memscope_memory_headroom_bytes",
     kGauge,
     "Bytes that are left below the effective limit, after all memory that counts against it; absent if there is none.",
     {"target"},
     headroom},
    {"memscope_memory_limit_owner",
     kGauge,
     "1 for the owner of the effective limit (own, ancestor, host, numa), 0 for the others; absent if there is none.",
     {"target", "owner"},
     limit_owner},
    {"memscope_memory_unreclaimable_bytes",
     kGauge,
     "Memory that the kernel cannot take back without a kill: compare this with the limit, not the usage. On cgroup v1 "
     "it includes kernel memory only as page tables and thread stacks.",
     {"target"},
     memory_bytes<&MemoryState::unreclaimable>},
    {"memscope_memory_swap_bytes", kGauge, "Swap used by the target.", {"target"}, memory_bytes<&MemoryState::swap>},
    {"memscope_memory_bytes",
     kGauge,
     "Memory of the target by kind (anon, shmem, file, kernel, other); the kinds are disjoint and sum to the usage.",
     {"target", "kind"},
     by_kind},
    {"memscope_memory_events_total",
     kCounter,
     "Memory events of the target and everything below it "
     "(low, high, max, oom, oom_kill, oom_group_kill); absent for the root.",
     {"target", "event"},
     events},
    {"memscope_pressure_stalled_seconds_total",
     kCounter,
     "Time in which some or all (full) tasks of the target waited for memory; absent where the cgroup has no PSI.",
     {"target", "kind"},
     pressure},
    {"memscope_reclaim_stall_seconds_total",
     kCounter,
     "Time that threads of the target waited because they had to free memory before they got any (direct and memcg "
     "reclaim), summed over threads; absent if the kernel has no hook for it.",
     {"target"},
     reclaim_stalls},
    {"memscope_oom_precursor",
     kGauge,
     "1 while that precursor of an OOM kill is present (eta, near_limit, pressure, reclaim, refault, high_throttled, "
     "shm_full, host_low).",
     {"target", "precursor"},
     precursors},
    {"memscope_oom_precursor_of_host",
     kGauge,
     "1 while that precursor (eta, near_limit) is present and its limit is the memory of the host, which all its jobs "
     "share.",
     {"target", "precursor"},
     precursors_of_host},
    {"memscope_shm_used_bytes",
     kGauge,
     "Used bytes of the fullest /dev/shm that the target's processes see.",
     {"target"},
     shm_bytes<&ShmUsage::used>},
    {"memscope_shm_size_bytes",
     kGauge,
     "Size of the fullest /dev/shm that the target's processes see.",
     {"target"},
     shm_bytes<&ShmUsage::size>},
};

}  // namespace

std::span<const Metric> target_metrics() { return kTargetMetrics; }

}  // namespace memscope
