#include "sources/cgroup/cgroup_stat.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

Error not_a_number(std::string_view what, std::string_view text) {
    return {std::make_error_code(std::errc::bad_message),
            fmt::format("{} has '{}' where a number is expected", what, shortened(text)),
            {}};
}

// Calls set(key, number) for each line "key number" for which wanted(key) is true.
template <class Wanted, class Set>
Status parse_keyed(std::string_view text, std::string_view what, Wanted wanted, Set set) {
    std::optional<Error> error;
    for_each_line(text, [&](std::string_view line) {
        const auto space = line.find(' ');
        const std::string_view key = line.substr(0, space);
        if (error || !wanted(key)) return;
        const std::string_view value = space == std::string_view::npos ? "" : trimmed(line.substr(space + 1));
        if (const auto number = parse_number(value))
            set(key, *number);
        else
            error = not_a_number(fmt::format("{} of {}", key, what), value);
    });
    if (error) return *error;
    return Done{};
}

template <class Value, class Owner>
struct Key {
    std::string_view name;
    Value Owner::* member;
};

template <class Value, class Owner, std::size_t N>
Result<Owner> parse_table(std::string_view text, std::string_view what, const Key<Value, Owner> (&keys)[N]) {
    Owner owner;
    const auto find = [&](std::string_view name) {
        return std::find_if(std::begin(keys), std::end(keys), [&](const auto& key) { return key.name == name; });
    };
    const auto done = parse_keyed(
        text, what, [&](std::string_view name) { return find(name) != std::end(keys); },
        [&](std::string_view name, std::uint64_t number) { owner.*(find(name)->member) = Value{number}; });
    if (!done) return done.error();
    return owner;
}

using StatKey = Key<std::optional<Bytes>, MemoryStat>;
constexpr StatKey kKeysV2[] = {
    {"anon", &MemoryStat::anon},
    {"file", &MemoryStat::file},
    {"shmem", &MemoryStat::shmem},
    {"swapcached", &MemoryStat::swapcached},
    {"kernel", &MemoryStat::kernel},
    {"kernel_stack", &MemoryStat::kernel_stack},
    {"slab", &MemoryStat::slab},
    {"pagetables", &MemoryStat::pagetables},
    {"percpu", &MemoryStat::percpu},
    {"sock", &MemoryStat::sock},
    {"slab_reclaimable", &MemoryStat::slab_reclaimable},
    {"active_anon", &MemoryStat::active_anon},
    {"inactive_anon", &MemoryStat::inactive_anon},
    {"unevictable", &MemoryStat::unevictable},
};
constexpr StatKey kKeysV1[] = {
    {"total_rss", &MemoryStat::anon},
    {"total_cache", &MemoryStat::file},
    {"total_shmem", &MemoryStat::shmem},
    {"total_swapcached", &MemoryStat::swapcached},
    {"total_active_anon", &MemoryStat::active_anon},
    {"total_inactive_anon", &MemoryStat::inactive_anon},
    {"total_unevictable", &MemoryStat::unevictable},
    {"total_swap", &MemoryStat::swap},
};
using EventKey = Key<std::uint64_t, MemoryEvents>;
constexpr EventKey kEventKeys[] = {
    {"low", &MemoryEvents::low},           {"high", &MemoryEvents::high},
    {"max", &MemoryEvents::max},           {"oom", &MemoryEvents::oom},
    {"oom_kill", &MemoryEvents::oom_kill}, {"oom_group_kill", &MemoryEvents::oom_group_kill},
};

struct Stall {
    double avg10 = 0;
    Seconds total{};
};

// "avg10=0.00 avg60=0.00 avg300=0.00 total=0": averages in percent, total in microseconds.
std::optional<Stall> parse_stall(std::string_view fields) {
    std::optional<double> avg10;
    std::optional<std::uint64_t> total;
    for (const std::string_view field : split(fields, ' ')) {
        constexpr std::string_view kAvg10 = "avg10=", kTotal = "total=";
        if (field.starts_with(kTotal)) total = parse_number(field.substr(kTotal.size()));
        if (!field.starts_with(kAvg10)) continue;
        double percent = 0;
        const auto [end, error] = std::from_chars(field.data() + kAvg10.size(), field.data() + field.size(), percent,
                                                  std::chars_format::fixed);
        const bool whole = error == std::errc{} && end == field.data() + field.size();
        if (whole && std::isfinite(percent) && percent >= 0) avg10 = percent / 100;
    }
    if (!avg10 || !total) return std::nullopt;
    return Stall{*avg10, Seconds(static_cast<double>(*total) / 1e6)};
}

}  // namespace

Result<MemoryStat> parse_memory_stat_v2(std::string_view text) { return parse_table(text, "memory.stat", kKeysV2); }
Result<MemoryStat> parse_memory_stat_v1(std::string_view text) { return parse_table(text, "memory.stat", kKeysV1); }
Result<std::optional<std::uint64_t>> parse_refaulted_pages(std::string_view text, int version) {
    std::optional<std::uint64_t> pages;
    const auto wanted = [&](std::string_view key) {
        constexpr std::string_view kTotal = "total_";
        if (version == 1) {
            if (!key.starts_with(kTotal)) return false;
            key.remove_prefix(kTotal.size());
        }
        // Kernels up to 5.8 have one line for both kinds.
        return key == "workingset_refault_anon" || key == "workingset_refault_file" || key == "workingset_refault";
    };
    const auto done = parse_keyed(text, "memory.stat", wanted,
                                  [&](std::string_view, std::uint64_t number) { pages = pages.value_or(0) + number; });
    if (!done) return done.error();
    return pages;
}

Result<MemoryEvents> parse_memory_events(std::string_view text) {
    return parse_table(text, "memory.events", kEventKeys);
}

Result<std::optional<std::uint64_t>> parse_oom_control(std::string_view text) {
    std::optional<std::uint64_t> kills;
    const auto done = parse_keyed(
        text, "memory.oom_control", [](std::string_view key) { return key == "oom_kill"; },
        [&](std::string_view, std::uint64_t number) { kills = number; });
    if (!done) return done.error();
    return kills;
}

Result<Pressure> parse_pressure(std::string_view text) {
    std::optional<Stall> some, full;
    for_each_line(text, [&](std::string_view line) {
        if (line.starts_with("some ")) some = parse_stall(line);
        if (line.starts_with("full ")) full = parse_stall(line);
    });
    if (!some || !full)
        return Error{
            std::make_error_code(std::errc::bad_message), "the pressure file lacks the line 'some' or 'full'", {}};
    return Pressure{.some = some->total, .full = full->total, .some_avg10 = some->avg10, .full_avg10 = full->avg10};
}

Result<Bytes> parse_bytes(std::string_view text) {
    if (const auto number = parse_number(trimmed(text))) return Bytes{*number};
    return not_a_number("a size of a cgroup", trimmed(text));
}

Result<Limit> parse_limit(std::string_view text) {
    if (trimmed(text) == "max") return Limit{Unlimited{}};
    // v1 writes the largest number of whole pages for "unlimited", and a page has up to 64 KiB.
    constexpr std::uint64_t kUnlimitedFrom = (std::uint64_t{1} << 63) - (1U << 16);
    const auto number = parse_number(trimmed(text));
    if (!number) return not_a_number("a limit of a cgroup", trimmed(text));
    return *number >= kUnlimitedFrom ? Limit{Unlimited{}} : Limit{Bytes{*number}};
}

}  // namespace memscope
