#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

using Labels = std::vector<std::string>;

Labels role_labels(const std::string& target, const RoleKey& key) {
    return {target, std::string(name_of(key.role)), key.rank ? std::to_string(*key.rank) : ""};
}
Labels with(Labels labels, std::string value) {
    labels.push_back(std::move(value));
    return labels;
}

// Gauges: only roles that have processes now. Counters: every role that ever had one, or rate() would lose its history.
template <auto values, class Read>
void each_role(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (const auto& [key, value] : snapshot.targets[i].*values) read(role_labels(labels[i], key), value);
}

template <auto member>
void total(const Snapshot& snapshot, Samples& out) {
    each_role<&TargetSnapshot::roles>(snapshot, [&](Labels labels, const RoleTotals& role) {
        if (role.processes > 0) out.add(std::move(labels), number(role.*member));
    });
}

template <auto member>
void counter(const Snapshot& snapshot, Samples& out) {
    each_role<&TargetSnapshot::counters>(
        snapshot, [&](Labels labels, const RoleCounters& role) { out.add(std::move(labels), number(role.*member)); });
}

void resident(const Snapshot& snapshot, Samples& out) {
    each_role<&TargetSnapshot::roles>(snapshot, [&](const Labels& labels, const RoleTotals& role) {
        if (role.processes == 0) return;
        out.add(with(labels, "anon"), number(role.anon.n));
        out.add(with(labels, "file"), number(role.file.n));
        out.add(with(labels, "shmem"), number(role.shmem.n));
    });
}

void page_faults(const Snapshot& snapshot, Samples& out) {
    each_role<&TargetSnapshot::counters>(snapshot, [&](const Labels& labels, const RoleCounters& role) {
        out.add(with(labels, "minor"), number(role.faults.minor));
        out.add(with(labels, "major"), number(role.faults.major));
    });
}

template <auto direction, auto word>
void mapped(const Snapshot& snapshot, Samples& out) {
    each_role<&TargetSnapshot::counters>(snapshot, [&](const Labels& labels, const RoleCounters& role) {
        if (!role.mappings) return;
        const auto& bytes = (*role.mappings).*direction;
        for (std::size_t i = 0; i < bytes.size(); ++i) out.add(with(labels, std::string(word(i))), number(bytes[i].n));
    });
}

// Calls read(labels, value) for each role in that map of the target's sharing.
template <auto values, class Read>
void each_sharing_role(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (const auto& [key, value] : snapshot.targets[i].sharing.*values) read(role_labels(labels[i], key), value);
}

void pss(const Snapshot& snapshot, Samples& out) {
    each_sharing_role<&Sharing::pss>(
        snapshot, [&](Labels labels, const RolePss& role) { out.add(std::move(labels), number(role.bytes.n)); });
}

void pss_age(const Snapshot& snapshot, Samples& out) {
    each_sharing_role<&Sharing::pss>(
        snapshot, [&](Labels labels, const RolePss& role) { out.add(std::move(labels), role.age.count()); });
}

void unshared(const Snapshot& snapshot, Samples& out) {
    each_sharing_role<&Sharing::unshared>(
        snapshot, [&](Labels labels, const Unshared& role) { out.add(std::move(labels), number(role.bytes.n)); });
}

// Without the label rank: a lack of memory affects all processes of a role alike, and there are enough labels already.
void failed_memory_calls(const Snapshot& snapshot, Samples& out) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        std::map<Role, Mappings> by_role;
        for (const auto& [key, counters] : snapshot.targets[i].counters)
            if (counters.mappings) by_role[key.role] += *counters.mappings;
        for (const auto& [role, mappings] : by_role)
            for (std::size_t call = 0; call < mappings.failures.size(); ++call)
                for (std::size_t reason = 0; reason < mappings.failures[call].size(); ++reason)
                    out.add({labels[i], std::string(name_of(role)), std::string(failed_call(call)),
                             std::string(failure_reason(reason))},
                            number(mappings.failures[call][reason]));
    }
}

constexpr Metric kRoleMetrics[] = {
    {"memscope_role_resident_bytes",
     kGauge,
     "Summed resident memory of a role's processes (anon, file, shmem). Shared pages count in each process: "
     "not for stacking.",
     {"target", "role", "rank", "kind"},
     resident},
    {"memscope_role_pss_bytes",
     kGauge,
     "Memory of a role with each page divided by the number of processes that map it (PSS): for stacking. Updated less "
     "often than other metrics, and absent while less than three quarters of the role were read.",
     {"target", "role", "rank"},
     pss},
    {"memscope_role_pss_age_seconds",
     kGauge,
     "Age of the oldest reading in memscope_role_pss_bytes.",
     {"target", "role", "rank"},
     pss_age},
    {"memscope_cow_unshared_bytes",
     kGauge,
     "Copies that a role's living forked processes have made of pages that they shared with their parent: the cgroup "
     "grows, but the resident set of no process does. Absent until it is known.",
     {"target", "role", "rank"},
     unshared},
    {"memscope_processes",
     kGauge,
     "Living processes of a role.",
     {"target", "role", "rank"},
     total<&RoleTotals::processes>},
    {"memscope_threads",
     kGauge,
     "Threads of a role's living processes.",
     {"target", "role", "rank"},
     total<&RoleTotals::threads>},
    {"memscope_process_starts_total",
     kCounter,
     "Processes that started in or moved into the target, by the role they held then.",
     {"target", "role", "rank"},
     counter<&RoleCounters::starts>},
    {"memscope_process_exits_total",
     kCounter,
     "Processes that ended in or moved out of the target, by the role they held last.",
     {"target", "role", "rank"},
     counter<&RoleCounters::exits>},
    {"memscope_page_faults_total",
     kCounter,
     "Page faults of a role, ended processes included; major ones waited for storage.",
     {"target", "role", "rank", "type"},
     page_faults},
    {"memscope_mapped_bytes_total",
     kCounter,
     "Address space mapped by a role. Mapped minus unmapped is the virtual size of its living processes.",
     {"target", "role", "rank", "call"},
     mapped<&Mappings::mapped, mapped_by>},
    {"memscope_unmapped_bytes_total",
     kCounter,
     "Address space unmapped by a role, by exits and execs too.",
     {"target", "role", "rank", "call"},
     mapped<&Mappings::unmapped, unmapped_by>},
    {"memscope_memory_failures_total",
     kCounter,
     "Calls that failed because memory or space was short.",
     {"target", "role", "call", "reason"},
     failed_memory_calls},
};

}  // namespace

std::span<const Metric> role_metrics() { return kRoleMetrics; }

}  // namespace memscope
