#include "sources/cgroup_level.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"

namespace memscope {
namespace {

// Files that not every kernel has: absent is an answer. PSI that is compiled in but off says EOPNOTSUPP.
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
    const auto parts = take_apart(usage, *stat, version == 1 ? std::optional(countable_kernel) : std::nullopt);
    if (!parts) return parts.error();

    const char* swap_file = version == 1 ? "memory.memsw.usage_in_bytes" : "memory.swap.current";
    const auto swap = parse_if_there<Bytes>(directory, swap_file, parse_bytes);
    if (!swap) return swap.error();
    const auto refaulted = parse_refaulted_pages(*text, version);
    if (!refaulted) return refaulted.error();
    LevelUsage level{*parts, *swap, version == 1 ? std::optional(Bytes{}) : stat->swapcached, {}};
    if (*refaulted) level.refaulted = Bytes{**refaulted * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
    // memsw is memory and swap together. memory.stat has swap alone, read at one moment with the rest.
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
    if (!finite(limits.memory)) return limits;  // then the limit of swap bounds nothing
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
    // The kernel gives memory.max to every v2 cgroup but the root, and cgroup.sane_behavior to no v1 cgroup but the
    // root.
    return version == 1 ? has("cgroup.sane_behavior") : !has("memory.max");
}

}  // namespace memscope
