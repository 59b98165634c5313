#include "outputs/json/tick_json.h"

#include <cmath>
#include <set>

#include "analysis/gpu/gpu_join.h"
#include "analysis/verdict/forecast.h"
#include "analysis/verdict/verdict_sentence.h"
#include "outputs/deaths/death_json.h"
#include "outputs/heap/heap_json.h"
#include "outputs/json/json_writer.h"

namespace memscope {
namespace {

void write_role(JsonWriter& json, const RoleKey& key) {
    json.field("role", name_of(key.role));
    json.field("rank", key.rank);
}

}  // namespace

void write_sharing(JsonWriter& json, const Sharing& sharing) {
    json.object("sharing", [&] {
        json.field("summed_rss_anon_bytes", sharing.summed_anon);
        json.field("cgroup_anon_bytes", sharing.cgroup_anon);
        json.list("unshared", [&] {
            for (const auto& [key, unshared] : sharing.unshared)
                json.object([&] {
                    write_role(json, key);
                    json.field("bytes", unshared.bytes);
                    json.field("confirmed", unshared.confirmed);
                    json.field("processes", unshared.processes);
                });
        });
        json.list("pss", [&] {
            for (const auto& [key, pss] : sharing.pss)
                json.object([&] {
                    write_role(json, key);
                    json.field("bytes", pss.bytes);
                    json.field("age_seconds", pss.age);
                    json.field("processes", pss.processes);
                });
        });
        json.field("explanation",
                   sharing.explanation.empty() ? std::nullopt : std::optional<std::string>(sharing.explanation));
    });
}

namespace {

std::optional<std::string> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

void write_device(JsonWriter& json, const GpuDevice& device, const Snapshot& snapshot, const TargetSnapshot& target) {
    json.field("gpu", device.id);
    json.field("index", std::uint64_t{device.index});
    json.field("name", device.name);
    json.field("pci_bus_id", or_null(device.pci_bus_id));
    json.field("part_of", or_null(device.part_of));
    json.field("used_bytes", device.used);
    json.field("free_bytes", device.free);
    json.field("driver_reserved_bytes", device.reserved);
    json.field("total_bytes", device.total);
    json.field("target_bytes", target.gpu ? held_on(device, snapshot.gpus, *target.gpu) : std::nullopt);
    json.field("others_bytes", others_on(device, snapshot.gpus, target.gpu));
    json.field("utilization_ratio", device.utilization);
    json.field("xid_errors", device.xid_errors);
    json.field("trouble", or_null(device.trouble));
}

// Leaves out reserved memory of 0 and unknown tensors: no CUDA call was seen, or the calls are not recorded.
void write_use(JsonWriter& json, const GpuId& id, const GpuUse& use) {
    json.field("gpu", or_null(id));
    json.field("used_bytes", use.used);
    if (use.reserved_total().n > 0)
        json.object("reserved_bytes", [&] {
            for (const CudaApi api : kCudaApis) json.field(name_of(api), use.of(api));
        });
    if (use.tensors) json.field("tensor_bytes", *use.tensors);
    if (const auto cached = use.cached()) json.field("cached_bytes", *cached);
}

void write_pinned(JsonWriter& json, const PinnedUse& pinned) {
    for (const PinnedKind kind : kPinnedKinds) json.field(name_of(kind), pinned.of(kind));
}

void write_target(JsonWriter& json, const TargetGpu& gpu) {
    json.list("roles", [&] {
        for (const auto& [where, use] : gpu.roles)
            json.object([&] {
                write_role(json, where.first);
                write_use(json, where.second, use);
            });
    });
    json.list("processes", [&] {
        for (const auto& [pid, held] : gpu.processes)
            for (const auto& [id, use] : held.devices)
                json.object([&] {
                    json.field("pid", pid);
                    write_use(json, id, use);
                });
    });
    json.list("pinned", [&] {
        for (const auto& [key, pinned] : gpu.pinned)
            json.object([&] {
                write_role(json, key);
                json.object("bytes", [&] { write_pinned(json, pinned); });
            });
    });
    json.list("failures", [&] {
        for (const auto& [where, count] : gpu.failures)
            json.object([&] {
                write_role(json, where.first);
                json.field("gpu", or_null(where.second));
                json.field("count", count);
            });
    });
}

}  // namespace

void write_gpu(JsonWriter& json, const Snapshot& snapshot, const TargetSnapshot& target) {
    if (snapshot.gpus.empty() && !target.gpu) return json.field("gpu", nullptr);
    json.object("gpu", [&] {
        json.list("devices", [&] {
            for (const GpuDevice& device : snapshot.gpus)
                json.object([&] { write_device(json, device, snapshot, target); });
        });
        write_target(json, target.gpu.value_or(TargetGpu{}));
    });
}

namespace {

double rounded(double value) { return std::round(value * 1000) / 1000; }
std::optional<double> rounded(const std::optional<Seconds>& time) {
    return time ? std::optional(rounded(time->count())) : std::nullopt;
}

}  // namespace

void write_verdict(JsonWriter& json, const Judgement& judgement, const std::optional<Forecast>& expected,
                   const std::string& explanation) {
    const bool judged = judgement.verdict != Verdict::insufficient;
    json.field("verdict", word(judgement.verdict));
    json.field("confidence", rounded(judgement.confidence));
    json.field("floor_bytes", judgement.samples > 0 ? std::optional(judgement.floor) : std::nullopt);
    json.field("floor_slope_bytes_per_second", judged ? std::optional(rounded(judgement.floor_slope)) : std::nullopt);
    json.field("peak_bytes", judgement.samples > 0 ? std::optional(judgement.peak) : std::nullopt);
    if (judgement.spike)
        json.object("spike", [&] {
            json.field("height_bytes", judgement.spike->height);
            json.field("period_seconds", rounded(judgement.spike->period.count()));
        });
    else
        json.field("spike", nullptr);
    json.field("warmup_ended_seconds", rounded(judgement.warmup_ended));
    json.field("leak_started_seconds", rounded(judgement.leak_started));
    json.field("restarted_seconds", judgement.only_fell ? std::nullopt : rounded(judgement.restarted));
    json.field("oom_eta_seconds", expected ? std::optional(rounded(expected->eta.count())) : std::nullopt);
    if (expected) {
        json.list("oom_eta_range_seconds", [&] {
            json.value(rounded(expected->earliest.count()));
            json.value(rounded(expected->latest));
        });
        json.field("oom_eta_basis", word(expected->basis));
    }
    json.field("explanation", explanation);
}

std::string verdict_json(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit) {
    JsonWriter json;
    const auto expected = limit ? forecast(judgement, *limit) : std::nullopt;
    json.object([&] { write_verdict(json, judgement, expected, verdict_sentence(judgement, began, limit)); });
    return json.text();
}

namespace {

void write_pressure(JsonWriter& json, const std::optional<Pressure>& pressure) {
    if (!pressure) return json.field("pressure", nullptr);
    json.object("pressure", [&] {
        json.field("some_seconds", pressure->some);
        json.field("full_seconds", pressure->full);
        json.field("some_avg10_ratio", pressure->some_avg10);
        json.field("full_avg10_ratio", pressure->full_avg10);
    });
}

void write_events(JsonWriter& json, const std::optional<MemoryEvents>& events) {
    if (!events) return json.field("events", nullptr);
    json.object("events", [&] {
        json.field("low", events->low);
        json.field("high", events->high);
        json.field("max", events->max);
        json.field("oom", events->oom);
        json.field("oom_kill", events->oom_kill);
        json.field("oom_group_kill", events->oom_group_kill);
    });
}

void write_memory(JsonWriter& json, const MemoryState& memory, const std::optional<ReclaimStalls>& reclaim) {
    const auto& effective = memory.effective;
    json.field("usage_bytes", memory.usage);
    json.field("peak_bytes", memory.peak);
    json.field("limit_bytes", finite(memory.limit));
    json.field("effective_limit_bytes", effective ? std::optional(effective->limit) : std::nullopt);
    json.field("limit_owner", effective ? std::optional(effective->owner) : std::nullopt);
    json.field("headroom_bytes", effective ? std::optional(effective->headroom) : std::nullopt);
    json.field("unreclaimable_bytes", memory.unreclaimable);
    json.field("kernel_counted", memory.kernel_partly_counted ? "page_tables_and_stacks" : "all_but_reclaimable_slab");
    json.field("swap_bytes", memory.swap);
    json.field("swap_cached_bytes", memory.swap_cached);
    json.object("by_kind", [&] {
        json.field("anon", memory.by_kind.anon);
        json.field("shmem", memory.by_kind.shmem);
        json.field("file", memory.by_kind.file);
        json.field("kernel", memory.by_kind.kernel);
        json.field("other", memory.by_kind.other);
    });
    write_events(json, memory.events);
    write_pressure(json, memory.pressure);
    json.field("reclaim_stall_seconds", reclaim ? std::optional(reclaim->total()) : std::nullopt);
    json.field("refaulted_bytes", memory.refaulted);
    if (!memory.measured_at.empty()) json.field("cgroup", memory.measured_at);
    if (memory.others) json.field("others_bytes", *memory.others);
}

void write_process(JsonWriter& json, const Process& process) {
    const TaskSample& task = process.task;
    const auto size = [&](Bytes AddressSpace::* member) {
        return task.memory ? std::optional((*task.memory).*member) : std::nullopt;
    };
    json.field("pid", task.id.pid);
    json.field("parent_pid", task.parent);
    json.field("start_time", process.start_time);
    json.field("comm", task.comm);
    json.field("command", process.command_text());
    json.field("role", name_of(process.role));
    json.field("rank", process.own_rank());
    json.field("slot", process.slot);
    json.field("rss_anon_bytes", size(&AddressSpace::anon));
    json.field("own_anon_bytes", task.memory ? std::optional(process.own_anon()) : std::nullopt);
    json.field("rss_file_bytes", size(&AddressSpace::file));
    json.field("rss_shmem_bytes", size(&AddressSpace::shmem));
    json.field("swap_bytes", size(&AddressSpace::swap));
    json.field("virtual_bytes", size(&AddressSpace::virtual_size));
    json.field("page_tables_bytes", size(&AddressSpace::page_tables));
    json.field("minor_faults", task.faults.minor);
    json.field("major_faults", task.faults.major);
    json.field("threads", std::uint64_t{task.threads});
}

// A role without living processes holds no memory, so 0 is its true value. A role without counters has unknown counts.
void write_role(JsonWriter& json, const TargetSnapshot& target, const RoleKey& key) {
    const auto present = target.roles.find(key);
    const RoleTotals totals = present == target.roles.end() ? RoleTotals{} : present->second;
    const auto counted = target.counters.find(key);
    const auto count = [&](auto read) {
        return counted == target.counters.end() ? std::nullopt : std::optional<std::uint64_t>(read(counted->second));
    };
    json.field("role", name_of(key.role));
    json.field("rank", key.rank);
    json.field("processes", totals.processes);
    json.field("threads", totals.threads);
    json.field("rss_anon_bytes", totals.anon);
    json.field("own_anon_bytes", totals.own_anon());
    json.field("rss_file_bytes", totals.file);
    json.field("rss_shmem_bytes", totals.shmem);
    json.field("swap_bytes", totals.swap);
    json.field("starts", count([](const RoleCounters& c) { return c.starts; }));
    json.field("exits", count([](const RoleCounters& c) { return c.exits; }));
    json.field("minor_faults", count([](const RoleCounters& c) { return c.faults.minor; }));
    json.field("major_faults", count([](const RoleCounters& c) { return c.faults.major; }));
}

std::set<RoleKey> role_keys(const TargetSnapshot& target) {
    std::set<RoleKey> keys;
    for (const auto& [key, totals] : target.roles) keys.insert(key);
    for (const auto& [key, counters] : target.counters) keys.insert(key);
    return keys;
}

void write_grower(JsonWriter& json, const std::optional<Grower>& grower) {
    if (!grower) return json.field("grower", nullptr);
    json.object("grower", [&] {
        json.field("pid", grower->pid);
        json.field("comm", grower->comm);
        json.field("role", name_of(grower->role.role));
        json.field("rank", grower->role.rank);
        json.field("grown_bytes", grower->grown);
        json.field("share_ratio", grower->share);
        json.field("over_seconds", grower->over);
        json.field("levels_below_top", grower->levels);
        json.field("top", grower->top);
    });
}

void write_lines(JsonWriter& json, const std::optional<GrowingLines>& lines) {
    if (!lines) return json.field("lines", nullptr);
    json.object("lines", [&] {
        json.field("most", lines->most);
        json.field("share_ratio", lines->share);
        json.field("repeated_ratio", lines->repeated);
        json.field("keeps", lines->keeps);
    });
}

void write_cause(JsonWriter& json, const std::optional<GrowthCause>& cause) {
    if (!cause) return json.field("cause", nullptr);
    json.object("cause", [&] {
        json.field("cause", name_of(cause->kind));
        json.field("bytes", cause->bytes);
        json.field("share_ratio", cause->share);
    });
}

void write_suspect(JsonWriter& json, const std::optional<Suspect>& suspect, double now) {
    if (!suspect) return json.field("suspect", nullptr);
    json.object("suspect", [&] {
        json.field("kind", name_of(suspect->kind));
        json.field("name", suspect->name);
        json.field("bytes_per_second", rounded(suspect->bytes_per_second));
        json.field("share", suspect->share);
        json.field("since_seconds", rounded(std::max(now - suspect->since, 0.0)));
        json.field("text", suspect->text);
    });
}

void write_scope(JsonWriter& json, const ScopeVerdict& verdict, double now) {
    json.field("scope", name_of(verdict.scope));
    json.field("role", verdict.role ? std::optional(name_of(verdict.role->role)) : std::nullopt);
    json.field("rank", verdict.role ? verdict.role->rank : std::nullopt);
    json.field("gpu", verdict.scope == VerdictScope::gpu ? std::optional(verdict.gpu) : std::nullopt);
    write_verdict(json, verdict.judgement, verdict.forecast, verdict.explanation);
    write_grower(json, verdict.grower);
    write_lines(json, verdict.lines);
    write_cause(json, verdict.cause);
    json.field("holders", or_null(verdict.holders));
    write_suspect(json, verdict.suspect, now);
}

// The forecast is about the limit that is reached first. The effective limit, the one with the least headroom, may be
// another limit.
void write_forecast(JsonWriter& json, const TargetSnapshot& target) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict || !verdict->forecast || !verdict->forecast->limit) return json.field("forecast", nullptr);
    const Forecast& forecast = *verdict->forecast;
    json.object("forecast", [&] {
        json.field("oom_eta_seconds", forecast.eta);
        json.field("earliest_seconds", forecast.earliest);
        json.field("latest_seconds", forecast.latest);
        json.field("basis", word(forecast.basis));
        json.field("limit_bytes", forecast.limit->limit);
        json.field("limit_owner", forecast.limit->owner);
        json.field("headroom_bytes", forecast.limit->headroom);
        json.field("own_share_ratio", forecast.own_share);
    });
}

void write_host(JsonWriter& json, const HostMemory& host) {
    json.field("total_bytes", host.total);
    json.field("available_bytes", host.available);
    json.field("hugetlb_bytes", host.hugetlb);
    json.field("swap_total_bytes", host.swap_total);
    json.field("swap_free_bytes", host.swap_free);
    json.field("swap_cached_bytes", host.swap_cached);
    write_pressure(json, host.pressure);
}

void write_self(JsonWriter& json, const SelfSample& self) {
    json.field("cpu_seconds", self.cpu);
    json.field("resident_bytes", self.resident);
    json.field("bpf_map_bytes", self.bpf_maps);
    json.field("unwatched_targets", self.unwatched_targets);
    json.field("tick_duration_seconds", self.tick_duration);
    json.object("dropped", [&] {
        for (const auto& [reason, count] : self.dropped) json.field(reason, count);
    });
    json.object("probes", [&] {
        for (const Probe& probe : self.probes) json.field(probe.name, probe.attached);
    });
}

}  // namespace

std::string tick_json(const Snapshot& snapshot, const TargetSnapshot& target) {
    JsonWriter json;
    json.object([&] {
        json.field("time", snapshot.time);
        json.object("target", [&] {
            json.field("name", target.info.name);
            json.field("kind", target.info.kind);
            json.field("cgroup_version", target.info.cgroup_version);
            if (target.info.pid) json.field("pid", *target.info.pid);
            json.field("up", target.up);
        });
        json.object("memory", [&] { write_memory(json, target.memory, target.reclaim); });
        json.list("processes", [&] {
            for (const Process& process : target.processes) json.object([&] { write_process(json, process); });
        });
        json.list("roles", [&] {
            for (const RoleKey& key : role_keys(target)) json.object([&] { write_role(json, target, key); });
        });
        if (target.shm)
            json.object("shm", [&] {
                json.field("used_bytes", target.shm->used);
                json.field("size_bytes", target.shm->size);
            });
        else
            json.field("shm", nullptr);
        json.list("verdicts", [&] {
            for (const ScopeVerdict& verdict : target.verdicts)
                json.object([&] { write_scope(json, verdict, snapshot.time); });
        });
        write_forecast(json, target);
        json.list("precursors", [&] {
            for (const Precursor& precursor : target.precursors)
                json.object([&] {
                    json.field("precursor", name_of(precursor.kind));
                    json.field("since", precursor.since);
                    json.field("reason", precursor.reason);
                });
        });
        write_sharing(json, target.sharing);
        write_gpu(json, snapshot, target);
        constexpr std::size_t kMostMappings = 5;
        write_heap(json, "heap", target.heap, kMostMappings);
        json.list("deaths", [&] {
            for (const Death& death : target.deaths) json.object([&] { write_death(json, death); });
        });
        json.object("host", [&] { write_host(json, snapshot.host); });
        json.object("self", [&] { write_self(json, snapshot.self); });
    });
    return json.text();
}

std::string targets_json(const Snapshot& snapshot) {
    JsonWriter json;
    json.object([&] {
        json.list("targets", [&] {
            for (const TargetSnapshot& target : snapshot.targets) json.value(target.info.name);
        });
        json.list("pids", [&] {
            for (const TargetSnapshot& target : snapshot.targets) json.value(target.info.pid);
        });
    });
    return json.text();
}

}  // namespace memscope
