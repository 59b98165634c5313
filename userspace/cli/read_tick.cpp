#include "cli/read_tick.h"

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kMost = 1000;  // elements of a list: more than any report has

GpuDevice read_device(const JsonFields& fields) {
    GpuDevice device{.id = fields.text("gpu"),
                     .index = static_cast<unsigned>(std::max(0, fields.small("index").value_or(0))),
                     .name = fields.text("name"),
                     .pci_bus_id = fields.text("pci_bus_id"),
                     .used = fields.bytes("used_bytes"),
                     .free = fields.bytes("free_bytes"),
                     .reserved = fields.bytes("driver_reserved_bytes"),
                     .total = fields.bytes("total_bytes"),
                     .utilization = fields.number("utilization_ratio"),
                     .knows_holders = fields.has("others_bytes"),
                     .part_of = fields.text("part_of"),
                     .trouble = printable(fields.text("trouble"))};
    if (fields.has("xid_errors")) device.xid_errors = fields.count("xid_errors");
    return device;
}

GpuUse read_use(const JsonFields& fields) {
    GpuUse use{.used = fields.bytes("used_bytes"), .tensors = fields.bytes("tensor_bytes")};
    const JsonFields reserved = fields.object("reserved_bytes");
    for (const GpuApi api : kGpuApis)
        use.reserved[static_cast<std::size_t>(api)] =
            reserved.bytes(std::string(name_of(api)).c_str()).value_or(Bytes{});
    return use;
}

PinnedUse read_pinned(const JsonFields& fields) {
    PinnedUse pinned;
    for (const PinnedKind kind : kPinnedKinds)
        pinned.by_kind[static_cast<std::size_t>(kind)] =
            fields.bytes(std::string(name_of(kind)).c_str()).value_or(Bytes{});
    return pinned;
}

}  // namespace

void read_gpu(const JsonFields& gpu, Snapshot& snapshot, TargetSnapshot& target) {
    gpu.each("devices", kMost, [&](const JsonFields& each) { snapshot.gpus.push_back(read_device(each)); });
    target.gpu.emplace();
    gpu.each("processes", kMost, [&](const JsonFields& each) {
        target.gpu->processes[each.small("pid").value_or(0)].devices[each.text("gpu")] = read_use(each);
    });
    gpu.each("roles", kMost,
             [&](const JsonFields& each) { target.gpu->roles[{read_role(each), each.text("gpu")}] = read_use(each); });
    gpu.each("pinned", kMost,
             [&](const JsonFields& each) { target.gpu->pinned[read_role(each)] = read_pinned(each.object("bytes")); });
    gpu.each("failures", kMost, [&](const JsonFields& each) {
        target.gpu->failures[{read_role(each), each.text("gpu")}] = each.count("count");
    });
}

namespace {

constexpr std::size_t kMostFrames = 64;  // of a stack

Bytes size(const JsonFields& fields, const char* name) { return fields.bytes(name).value_or(Bytes{}); }

MemoryState read_memory(const JsonFields& fields) {
    MemoryState memory{.usage = size(fields, "usage_bytes"),
                       .unreclaimable = size(fields, "unreclaimable_bytes"),
                       .kernel_partly_counted = fields.text("kernel_counted") == "page_tables_and_stacks",
                       .swap = size(fields, "swap_bytes"),
                       .swap_cached = fields.bytes("swap_cached_bytes"),
                       .peak = fields.bytes("peak_bytes"),
                       .measured_at = fields.text("cgroup"),
                       .others = fields.bytes("others_bytes")};
    const JsonFields kinds = fields.object("by_kind");
    memory.by_kind = {size(kinds, "anon"), size(kinds, "shmem"), size(kinds, "file"), size(kinds, "kernel"),
                      size(kinds, "other")};
    if (const auto limit = fields.bytes("limit_bytes")) memory.limit = *limit;
    if (const auto limit = fields.bytes("effective_limit_bytes"))
        memory.effective = EffectiveLimit{fields.text("limit_owner"), *limit, size(fields, "headroom_bytes")};
    if (fields.has("events")) {
        const JsonFields events = fields.object("events");
        memory.events = MemoryEvents{.low = events.count("low"),
                                     .high = events.count("high"),
                                     .max = events.count("max"),
                                     .oom = events.count("oom"),
                                     .oom_kill = events.count("oom_kill"),
                                     .oom_group_kill = events.count("oom_group_kill")};
    }
    return memory;
}

Process read_process(const JsonFields& fields) {
    Process process;
    process.task.id.pid = fields.small("pid").value_or(0);
    process.task.parent = fields.small("parent_pid").value_or(0);
    process.task.comm = fields.text("comm");
    process.task.threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(fields.count("threads"), UINT32_MAX));
    if (fields.has("rss_anon_bytes"))
        process.task.memory = AddressSpace{.anon = size(fields, "rss_anon_bytes"),
                                           .file = size(fields, "rss_file_bytes"),
                                           .shmem = size(fields, "rss_shmem_bytes"),
                                           .swap = size(fields, "swap_bytes"),
                                           .virtual_size = size(fields, "virtual_bytes"),
                                           .page_tables = size(fields, "page_tables_bytes")};
    // Reports of before have no such field: there all of it is its own.
    if (const auto own = fields.bytes("own_anon_bytes"); own && process.task.memory)
        process.inherited = process.task.memory->anon - *own;
    const RoleKey role = read_role(fields);
    process.role = role.role;
    process.rank = role.rank;
    process.start_time = fields.time("start_time");
    process.command = std::make_shared<const std::string>(fields.text("command"));
    return process;
}

RoleTotals read_totals(const JsonFields& fields) {
    const Bytes anon = size(fields, "rss_anon_bytes");
    return {.anon = anon,
            .file = size(fields, "rss_file_bytes"),
            .shmem = size(fields, "rss_shmem_bytes"),
            .swap = size(fields, "swap_bytes"),
            .processes = fields.count("processes"),
            .threads = fields.count("threads"),
            .inherited = anon - fields.bytes("own_anon_bytes").value_or(anon)};
}

std::optional<Forecast> read_forecast(const JsonFields& fields) {
    const auto eta = fields.seconds("oom_eta_seconds");
    if (!eta) return std::nullopt;
    Forecast forecast{.eta = *eta, .earliest = *eta};
    if (const auto* range = fields.find("oom_eta_range_seconds"); range && range->is_array() && range->size() == 2) {
        const nlohmann::json ends{{"earliest", (*range)[0]}, {"latest", (*range)[1]}};
        forecast.earliest = JsonFields(ends).seconds("earliest").value_or(*eta);
        forecast.latest = JsonFields(ends).seconds("latest");
    }
    using Basis = Forecast::Basis;
    forecast.basis =
        fields.word("oom_eta_basis", kForecastBases, [](Basis basis) { return word(basis); }).value_or(Basis::leak);
    return forecast;
}

ScopeVerdict read_verdict(const JsonFields& fields) {
    ScopeVerdict verdict;
    constexpr VerdictScope kScopes[] = {VerdictScope::target, VerdictScope::role, VerdictScope::gpu,
                                        VerdictScope::pinned};
    verdict.scope =
        fields.word("scope", kScopes, [](VerdictScope scope) { return name_of(scope); }).value_or(VerdictScope::target);
    if (verdict.scope == VerdictScope::role) verdict.role = read_role(fields);
    if (verdict.scope == VerdictScope::gpu) verdict.gpu = fields.text("gpu");
    verdict.judgement.verdict = verdict_of(fields.text("verdict")).value_or(Verdict::insufficient);
    verdict.judgement.floor = size(fields, "floor_bytes");
    verdict.judgement.floor_slope = fields.number("floor_slope_bytes_per_second").value_or(0);
    verdict.judgement.peak = size(fields, "peak_bytes");
    verdict.forecast = read_forecast(fields);
    if (fields.has("grower")) {
        const JsonFields grower = fields.object("grower");
        verdict.grower = Grower{.pid = grower.small("pid").value_or(0),
                                .comm = grower.text("comm"),
                                .role = read_role(grower),
                                .grown = size(grower, "grown_bytes"),
                                .over = grower.seconds("over_seconds").value_or(Seconds{}),
                                .levels = grower.small("levels_below_top").value_or(0),
                                .top = grower.text("top"),
                                .share = grower.number("share_ratio").value_or(1)};
    }
    using Kind = GrowthCause::Kind;
    constexpr Kind kCauses[] = {Kind::unsharing, Kind::shared_memory, Kind::page_tables, Kind::kernel};
    const JsonFields cause = fields.object("cause");
    if (const auto kind = cause.word("cause", kCauses, [](Kind each) { return name_of(each); }))
        verdict.cause =
            GrowthCause{.kind = *kind, .bytes = size(cause, "bytes"), .share = cause.number("share_ratio").value_or(0)};
    verdict.explanation = printable(fields.text("explanation"));
    return verdict;
}

GrowthSite read_site(const JsonFields& fields) {
    GrowthSite site{.bytes = fields.whole("bytes").value_or(0),
                    .living_bytes = fields.whole("living_bytes").value_or(0),
                    .role = read_role(fields)};
    fields.each("python", kMostFrames, [&](const JsonFields& frame) {
        site.python.push_back({frame.text("function"), frame.text("file"), frame.small("line").value_or(0)});
    });
    fields.each("native", kMostFrames, [&](const JsonFields& frame) {
        site.native.push_back({frame.text("symbol"), frame.text("module"), frame.count("offset")});
    });
    return site;
}

}  // namespace

RoleKey read_role(const JsonFields& fields) {
    return {role_named(fields.text("role")).value_or(Role::other), fields.small("rank")};
}

Snapshot read_tick(const JsonFields& tick) {
    TargetSnapshot target;
    const JsonFields info = tick.object("target");
    target.info = {info.text("name"), info.text("kind"), info.small("cgroup_version").value_or(2)};
    target.memory = read_memory(tick.object("memory"));
    tick.each("processes", kMost, [&](const JsonFields& each) { target.processes.push_back(read_process(each)); });
    tick.each("roles", kMost, [&](const JsonFields& each) { target.roles[read_role(each)] = read_totals(each); });
    if (tick.has("shm")) {
        const JsonFields shm = tick.object("shm");
        target.shm = ShmUsage{size(shm, "used_bytes"), size(shm, "size_bytes")};
    }
    tick.each("verdicts", kMost, [&](const JsonFields& each) { target.verdicts.push_back(read_verdict(each)); });
    // The limit of the target's forecast stands beside the verdicts.
    const JsonFields forecast = tick.object("forecast");
    const auto limit = forecast.bytes("limit_bytes");
    if (limit && !target.verdicts.empty() && target.verdicts.front().forecast)
        target.verdicts.front().forecast->limit =
            EffectiveLimit{forecast.text("limit_owner"), *limit, size(forecast, "headroom_bytes")};
    tick.each("precursors", kMost, [&](const JsonFields& each) {
        const auto kind = each.word("precursor", kPrecursorKinds, [](PrecursorKind k) { return name_of(k); });
        if (kind) target.precursors.push_back({*kind, each.time("since"), printable(each.text("reason"))});
    });
    target.sharing.explanation = printable(tick.object("sharing").text("explanation"));
    Snapshot snapshot{.time = tick.time("time")};
    if (tick.has("gpu")) read_gpu(tick.object("gpu"), snapshot, target);
    snapshot.targets.push_back(std::move(target));
    const JsonFields host = tick.object("host");
    snapshot.host = {size(host, "total_bytes"),
                     size(host, "available_bytes"),
                     size(host, "hugetlb_bytes"),
                     size(host, "swap_total_bytes"),
                     size(host, "swap_free_bytes"),
                     size(host, "swap_cached_bytes"),
                     std::nullopt};
    return snapshot;
}

Growth read_growth(const JsonFields& growth) {
    Growth read;
    const auto read_plane = [&](const char* name, GrowthPlane& plane) {
        growth.each(name, kMost, [&](const JsonFields& each) { plane.sites.push_back(read_site(each)); });
    };
    read_plane("resident", read.resident);
    read_plane("mapped", read.mapped);
    read_plane("gpu", read.gpu);
    read_plane("pinned", read.pinned);
    return read;
}

}  // namespace memscope
