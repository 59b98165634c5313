#include "sources/cgroup/cgroup_memory.h"

#include <algorithm>
#include <fcntl.h>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "sources/cgroup/cgroup_stat.h"
#include "sources/cgroup/memory_parts.h"
#include "sources/proc/host.h"

namespace memscope {
namespace {

// Reads a file that not every kernel has. `nullopt` if it is absent, or if PSI is disabled (EOPNOTSUPP).
Result<std::optional<std::string>> read_if_there(const Fd& directory, const char* name) {
    auto text = read_file_at(directory, name);
    if (text) return std::optional(*std::move(text));
    const auto code = text.error().code;
    if (code == std::errc::no_such_file_or_directory || code == std::errc::operation_not_supported)
        return std::optional<std::string>();
    return text.error();
}

template <class T, class Parse>
Result<std::optional<T>> parse_if_there(const Fd& directory, const char* name, Parse parse) {
    const auto text = read_if_there(directory, name);
    if (!text) return text.error();
    if (!*text) return std::optional<T>();
    const Result<T> value = parse(**text);
    if (!value) return Error{value.error().code, std::string("read ") + name + ": " + value.error().where, {}};
    return std::optional<T>(*value);
}

}  // namespace

Result<Bytes> read_usage(const Fd& directory, int version) {
    const auto text = read_file_at(directory, version == 1 ? "memory.usage_in_bytes" : "memory.current");
    if (!text) return text.error();
    return parse_bytes(*text);
}

Result<LevelUsage> read_parts(const Fd& directory, int version, Bytes usage, Bytes countable_kernel) {
    const auto text = read_file_at(directory, "memory.stat");
    if (!text) return text.error();
    auto stat = version == 1 ? parse_memory_stat_v1(*text) : parse_memory_stat_v2(*text);
    if (!stat) return stat.error();
    if (version == 1) {
        const auto kernel = parse_if_there<Bytes>(directory, "memory.kmem.usage_in_bytes", parse_bytes);
        if (!kernel) return kernel.error();
        stat->kernel = *kernel;
    }
    const auto parts = split_usage(usage, *stat, version == 1 ? std::optional(countable_kernel) : std::nullopt);
    if (!parts) return parts.error();

    const char* swap_file = version == 1 ? "memory.memsw.usage_in_bytes" : "memory.swap.current";
    const auto swap = parse_if_there<Bytes>(directory, swap_file, parse_bytes);
    if (!swap) return swap.error();
    const auto refaulted = parse_refaulted_pages(*text, version);
    if (!refaulted) return refaulted.error();
    LevelUsage level{*parts, *swap, version == 1 ? std::optional(Bytes{}) : stat->swapcached, {}};
    if (*refaulted) level.refaulted = Bytes{**refaulted * page_bytes()};
    // memsw counts memory and swap together. memory.stat has swap alone, read at the same moment as the other values.
    if (version == 1 && *swap) level.swap = stat->swap ? *stat->swap : **swap - usage;
    return level;
}

Result<std::optional<Bytes>> read_peak(const Fd& directory, int version) {
    return parse_if_there<Bytes>(directory, version == 1 ? "memory.max_usage_in_bytes" : "memory.peak", parse_bytes);
}

Result<CgroupLimits> read_limits(const Fd& directory, int version) {
    CgroupLimits limits{.version = version, .memory = {}, .swap = {}};
    const auto memory =
        parse_if_there<Limit>(directory, version == 1 ? "memory.limit_in_bytes" : "memory.max", parse_limit);
    if (!memory) return memory.error();
    if (*memory) limits.memory = **memory;
    if (!finite(limits.memory)) return limits;  // without a memory limit the swap limit has no effect
    const auto swap =
        parse_if_there<Limit>(directory, version == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max", parse_limit);
    if (!swap) return swap.error();
    limits.swap = *swap;
    return limits;
}

Result<std::optional<MemoryEvents>> read_events_v2(const Fd& directory) {
    return parse_if_there<MemoryEvents>(directory, "memory.events", parse_memory_events);
}

Result<std::uint64_t> read_failcnt_v1(const Fd& directory) {
    const auto count = parse_if_there<Bytes>(directory, "memory.failcnt", parse_bytes);
    if (!count) return count.error();
    return *count ? (*count)->n : 0;
}

std::optional<Pressure> read_pressure_v2(const Fd& directory) {
    const auto pressure = parse_if_there<Pressure>(directory, "memory.pressure", parse_pressure);
    return pressure ? *pressure : std::nullopt;
}

bool charges_children_v1(const Fd& directory) {
    const auto text = read_file_at(directory, "memory.use_hierarchy");
    return !text || trimmed(*text) != "0";
}

bool is_machine_root(const Fd& directory, int version) {
    const auto has = [&](const char* name) { return ::faccessat(directory.get(), name, F_OK, 0) == 0; };
    // On v2 every cgroup except the root has memory.max. On v1 only the root has cgroup.sane_behavior.
    return version == 1 ? has("cgroup.sane_behavior") : !has("memory.max");
}

namespace {

Status count_one(const Fd& directory, OomKills::Counts& seen) {
    const auto text = read_file_at(directory, "memory.oom_control");
    if (!text) return text.error();
    const auto kills = parse_oom_control(*text);
    if (!kills) return kills.error();
    const auto id = cgroup_id(directory);
    if (!id) return id.error();
    if (*kills) seen[*id] = **kills;
    return Done{};
}

}  // namespace

void OomKills::take(const Counts& seen, bool complete) {
    for (const auto& [id, kills] : seen) {
        const auto before = last_.find(id);
        const std::uint64_t known = before == last_.end() ? 0 : before->second;
        if (kills > known) total_ += kills - known;
    }
    // If a cgroup were forgotten while it exists, its kills would be counted again when it is seen again.
    if (complete) last_.clear();
    for (const auto& [id, kills] : seen) last_[id] = kills;
}

Result<std::uint64_t> OomKills::sum_up(const CgroupDirectory& top) {
    Counts seen;
    const auto own = count_one(top.fd(), seen);
    if (!own) return own.error();
    bool complete = true;
    complete = walk_directories(top.fd(), top.path(), {},
                                [&](const WalkedDirectory& directory) {
                                    const auto done = count_one(directory.fd, seen);
                                    if (!done && !is_gone(done.error())) complete = false;
                                    return true;
                                }) &&
               complete;
    take(seen, complete);
    return total_;
}

namespace {

std::string shown_path(const CgroupDirectory& directory) { return directory.path().empty() ? "/" : directory.path(); }

// A missing file of a cgroup that still exists must not be mistaken for the end of the target.
Error in_cgroup(Error error, const CgroupDirectory& directory) {
    if (is_gone(error) && directory.exists()) error.code = std::make_error_code(std::errc::not_supported);
    error.where += " of cgroup '" + shown_path(directory) + "'";
    return error;
}

}  // namespace

Result<CgroupMemory> CgroupMemory::open(const CgroupHierarchy& hierarchy, const std::string& path,
                                        const SysRoot& root) {
    auto chain = SharedCgroups(hierarchy).open_chain(path);
    if (!chain) return chain.error();
    return of(hierarchy, *std::move(chain), root);
}

Result<AncestorReadings::Reading> AncestorReadings::read(const CgroupDirectory& level, int version) {
    if (const auto known = readings_.find(level.id()); known != readings_.end()) return known->second;
    const auto limits = read_limits(level.fd(), version);
    if (!limits) return in_cgroup(limits.error(), level);
    Reading reading{.limits = *limits};
    if (finite(limits->memory) && (version == 2 || charges_children_v1(level.fd()))) {
        const auto usage = read_usage(level.fd(), version);
        if (!usage) return in_cgroup(usage.error(), level);
        const auto parts = read_parts(level.fd(), version, *usage, Bytes{});
        if (!parts) return in_cgroup(parts.error(), level);
        reading.usage = *parts;
    }
    return readings_.emplace(level.id(), reading).first->second;
}

CgroupMemory CgroupMemory::of(const CgroupHierarchy& hierarchy, std::vector<CgroupDirectoryPtr> chain,
                              const SysRoot& root, std::shared_ptr<AncestorReadings> ancestors) {
    const bool at_machine_root = is_machine_root(chain.back()->fd(), hierarchy.version);
    return {hierarchy.version, std::move(chain), at_machine_root, root, std::move(ancestors)};
}

// Index of the nearest level, from the target upwards, that has the memory controller. The number of levels if only the
// machine is left. Checked at each sample, because cgroup.subtree_control can be written at any time.
Result<std::size_t> CgroupMemory::find_measured(Bytes& usage) const {
    const std::size_t levels = chain_.size() - (ends_at_machine_root_ ? 1 : 0);
    for (std::size_t level = 0; level < levels; ++level) {
        const auto read = read_usage(chain_[level]->fd(), version_);
        if (read) {
            usage = *read;
            return level;
        }
        if (!is_gone(read.error())) return in_cgroup(read.error(), *chain_[level]);
    }
    return chain_.size();
}

Result<MemoryState> CgroupMemory::sample(const HostMemory& host, Bytes countable_kernel) {
    Bytes usage;
    const auto measured = find_measured(usage);
    if (!measured) return measured.error();
    if (*measured > 0 && !directory().exists())
        return system_error(ENOENT, "read memory of cgroup '" + shown_path(directory()) + "'");
    if (*measured < chain_.size()) return sample_level(*measured, usage, host, countable_kernel);

    auto state = read_root_memory(root_, host);
    if (state && !directory().path().empty() && version_ == 2) state->pressure = read_pressure_v2(directory().fd());
    return state;
}

Result<MemoryState> CgroupMemory::sample_level(std::size_t measured, Bytes usage, const HostMemory& host,
                                               Bytes countable_kernel) {
    const CgroupDirectory& at = *chain_[measured];
    const auto level = read_parts(at.fd(), version_, usage, countable_kernel);
    if (!level) return in_cgroup(level.error(), at);

    MemoryState state;
    state.usage = usage;
    state.by_kind = level->parts.by_kind;
    state.unreclaimable = level->parts.unreclaimable;
    state.kernel_partly_counted = version_ == 1;
    state.swap = level->swap.value_or(Bytes{});
    state.swap_cached = level->swap_cached;
    state.refaulted = level->refaulted;
    state.page_tables = level->parts.page_tables;
    if (measured > 0) state.measured_at = shown_path(at);
    if (const auto done = add_candidates(measured, host, countable_kernel, state); !done) return done.error();
    state.candidates.push_back(host_candidate(host, host.swap_total.n > 0 && level->swap));
    state.effective = nearest_limit(state.candidates);

    const auto peak = read_peak(at.fd(), version_);
    if (!peak) return in_cgroup(peak.error(), at);
    state.peak = *peak;
    const auto events = read_events(at);
    if (!events) return in_cgroup(events.error(), at);
    state.events = *events;
    // Every v2 cgroup has a pressure file, with the controller or without it.
    if (version_ == 2) state.pressure = read_pressure_v2(directory().fd());
    return state;
}

Status CgroupMemory::add_candidates(std::size_t measured, const HostMemory& host, Bytes countable_kernel,
                                    MemoryState& state) const {
    const auto add = [&](std::string owner, const CgroupLimits& limits, const HeldMemory& held) {
        if (auto candidate = limit_candidate(std::move(owner), limits, held, host))
            state.candidates.push_back(*std::move(candidate));
    };
    const auto own = read_limits(chain_[measured]->fd(), version_);
    if (!own) return in_cgroup(own.error(), *chain_[measured]);
    if (measured == 0) state.limit = own->memory;
    add(measured == 0 ? "own" : shown_path(*chain_[measured]), *own,
        {state.unreclaimable, state.swap, state.swap_cached.value_or(Bytes{})});

    AncestorReadings unshared;
    for (std::size_t i = measured + 1; i < chain_.size(); ++i) {
        const auto reading = (ancestors_ ? *ancestors_ : unshared).read(*chain_[i], version_);
        if (!reading) return reading.error();
        if (!reading->usage) continue;
        // Uses the ancestor's own numbers, because siblings count against its limit, too. On v1 the kernel memory of
        // siblings is not known.
        const LevelUsage& usage = *reading->usage;
        const Bytes kernel = version_ == 1 ? std::min(usage.parts.by_kind.kernel, countable_kernel) : Bytes{};
        add(shown_path(*chain_[i]), reading->limits,
            {usage.parts.unreclaimable + kernel, usage.swap.value_or(Bytes{}), usage.swap_cached.value_or(Bytes{})});
    }
    return Done{};
}

Result<std::optional<MemoryEvents>> CgroupMemory::read_events(const CgroupDirectory& measured) {
    if (version_ == 2) return read_events_v2(measured.fd());
    // The walk reads one file per cgroup, so it is not done at every sample. It is done after a kill, and once in
    // kSamplesBetweenWalks samples, because a kill event can be lost.
    constexpr std::uint64_t kSamplesBetweenWalks = 60;
    if (samples_++ % kSamplesBetweenWalks == 0 || kill_noted_) {
        const auto kills = kills_.sum_up(measured);
        if (!kills) return kills.error();
        kill_noted_ = false;
    }
    const auto failures = read_failcnt_v1(measured.fd());
    if (!failures) return failures.error();
    MemoryEvents events;
    events.max = *failures;
    events.oom_kill = kills_.total();
    return std::optional(events);
}

}  // namespace memscope
