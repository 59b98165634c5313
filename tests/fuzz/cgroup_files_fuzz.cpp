// Files of a cgroup directory and /proc/meminfo. The kernel writes them, but their formats differ between kernels.
#include "fuzz.h"
#include "sources/cgroup/cgroup_stat.h"
#include "sources/cgroup/memory_parts.h"
#include "sources/proc/host.h"

namespace memscope::fuzz {
namespace {

void check_parts(Bytes usage, const MemoryStat& stat) {
    const auto parts = split_usage(usage, stat);
    if (!parsed(parts)) return;
    const auto& k = parts->by_kind;
    const __uint128_t sum = __uint128_t{k.anon.n} + k.shmem.n + k.file.n + k.kernel.n + k.other.n;
    require(sum >= usage.n, "the kinds hold all of the usage");
}

}  // namespace

void one(std::string_view bytes) {
    const auto size = parse_bytes(bytes);
    const Bytes usage = parsed(size) ? *size : Bytes{bytes.size() << 20U};
    if (const auto stat = parsed(parse_memory_stat_v2(bytes))) check_parts(usage, *stat);
    if (const auto stat = parsed(parse_memory_stat_v1(bytes))) check_parts(usage, *stat);
    for (const int version : {1, 2}) parsed(parse_refaulted_pages(bytes, version));
    parsed(parse_memory_events(bytes));
    parsed(parse_oom_control(bytes));
    parsed(parse_limit(bytes));
    if (const auto pressure = parsed(parse_pressure(bytes)))
        require(pressure->full_avg10 >= 0 && pressure->some_avg10 >= 0 && pressure->some.count() >= 0,
                "pressure is not negative");

    const auto host = parse_meminfo(bytes);
    const auto detail = parse_meminfo_detail(bytes);
    if (parsed(host) && parsed(detail)) {
        check_parts(detail->used, detail->stat);
        parsed(root_memory(*detail, *host));
        (void)limit_candidate("own", {.version = 1, .memory = usage, .swap = Limit{usage}}, {usage, usage}, *host);
    }
}

}  // namespace memscope::fuzz
