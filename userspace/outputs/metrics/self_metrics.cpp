#include "base/version.h"
#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

#if defined(__x86_64__)
constexpr const char* kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "aarch64";
#else
constexpr const char* kArchitecture = "other";
#endif

template <auto member>
void self(const Snapshot& snapshot, Samples& out) {
    out.add({}, number(snapshot.self.*member));
}

void dropped(const Snapshot& snapshot, Samples& out) {
    for (const auto& [reason, count] : snapshot.self.dropped) out.add({reason}, number(count));
}

void actions(const Snapshot& snapshot, Samples& out) {
    for (const ActionEvent event : kActionEvents)
        for (const ActionOutcome outcome : kActionOutcomes)
            out.add({std::string(name_of(event)), std::string(name_of(outcome))},
                    number(snapshot.self.actions.of(event, outcome)));
}

void probes(const Snapshot& snapshot, Samples& out) {
    for (const Probe& probe : snapshot.self.probes) out.add({probe.name}, probe.attached ? 1 : 0);
}

void last_tick(const Snapshot& snapshot, Samples& out) { out.add({}, snapshot.time); }

void build_info(const Snapshot&, Samples& out) { out.add({std::string(kVersion), kArchitecture, __VERSION__}, 1); }

void recording_up(const Snapshot& snapshot, Samples& out) {
    if (snapshot.self.recording) out.add({}, snapshot.self.recording->up ? 1 : 0);
}

void recording_bytes(const Snapshot& snapshot, Samples& out) {
    if (snapshot.self.recording) out.add({}, static_cast<double>(snapshot.self.recording->bytes.n));
}

constexpr Metric kSelfMetrics[] = {
    {"memscope_events_dropped_total",
     kCounter,
     "Events and data that memscope could not record, by reason.",
     {"reason"},
     dropped},
    {"memscope_recording_up",
     kGauge,
     "1 if the last tick could be recorded, 0 if not. Absent with --record none.",
     {},
     recording_up},
    {"memscope_recording_bytes",
     kGauge,
     "Size of all recordings in the directory of the watcher.",
     {},
     recording_bytes},
    {"memscope_unwatched_targets",
     kGauge,
     "Cgroups that match but are not watched now, because memscope has no file descriptor left (process_max_fds).",
     {},
     self<&SelfSample::unwatched_targets>},
    {"memscope_actions_total",
     kCounter,
     "Commands of --on-precursor and --on-death, by outcome.",
     {"event", "outcome"},
     actions},
    {"memscope_probe_attached",
     kGauge,
     "1 if this kernel probe is attached, 0 if this machine refused it.",
     {"probe"},
     probes},
    {"memscope_last_tick_timestamp_seconds",
     kGauge,
     "When the values were measured, in seconds since 1970.",
     {},
     last_tick},
    {"memscope_tick_duration_seconds", kGauge, "How long the last tick took.", {}, self<&SelfSample::tick_duration>},
    {"memscope_self_cpu_seconds_total", kCounter, "CPU time of the watcher itself.", {}, self<&SelfSample::cpu>},
    {"memscope_self_resident_bytes", kGauge, "Resident memory of the watcher itself.", {}, self<&SelfSample::resident>},
    {"memscope_self_bpf_map_bytes",
     kGauge,
     "Kernel memory of the watcher's BPF maps.",
     {},
     self<&SelfSample::bpf_maps>},
    {"memscope_build_info",
     kGauge,
     "Version, architecture and compiler of this memscope: always 1.",
     {"version", "architecture", "compiler"},
     build_info},
    // The names every Prometheus client library uses for its own process.
    {"process_cpu_seconds_total",
     kCounter,
     "Total user and system CPU time spent in seconds.",
     {},
     self<&SelfSample::cpu>},
    {"process_resident_memory_bytes", kGauge, "Resident memory size in bytes.", {}, self<&SelfSample::resident>},
    {"process_virtual_memory_bytes", kGauge, "Virtual memory size in bytes.", {}, self<&SelfSample::virtual_size>},
    {"process_open_fds", kGauge, "Number of open file descriptors.", {}, self<&SelfSample::open_files>},
    {"process_max_fds", kGauge, "Maximum number of open file descriptors.", {}, self<&SelfSample::max_open_files>},
    {"process_start_time_seconds",
     kGauge,
     "Start time of the process since unix epoch in seconds.",
     {},
     self<&SelfSample::start_time>},
    {"process_threads", kGauge, "Number of threads in the process.", {}, self<&SelfSample::threads>},
};

}  // namespace

std::span<const Metric> self_metrics() { return kSelfMetrics; }

}  // namespace memscope
