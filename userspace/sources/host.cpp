#include "sources/host.h"

#include <map>

#include "base/text.h"
#include "sources/memory_parts.h"

namespace memscope {
namespace {

using Meminfo = std::map<std::string_view, std::uint64_t>;  // bytes; counts of pages as they are

Result<Meminfo> parse_lines(std::string_view text) {
    constexpr std::uint64_t kKibi = 1024;
    Meminfo values;
    std::string wrong;
    for_each_line(text, [&](std::string_view line) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos) return;
        std::string_view value = trimmed(line.substr(colon + 1));
        const bool kilobytes = value.ends_with(" kB");
        if (kilobytes) value = trimmed(value.substr(0, value.size() - 3));
        if (const auto number = parse_number(value))
            values[line.substr(0, colon)] = kilobytes ? *number * kKibi : *number;
        else
            wrong = shortened(line);
    });
    if (!wrong.empty())
        return Error{std::make_error_code(std::errc::bad_message), "/proc/meminfo has the line '" + wrong + "'", {}};
    return values;
}

std::optional<Bytes> find(const Meminfo& values, std::string_view key) {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(Bytes{found->second});
}

Bytes or_none(const Meminfo& values, std::string_view key) { return find(values, key).value_or(Bytes{}); }

Error missing(const char* key) {
    return {std::make_error_code(std::errc::bad_message), std::string("/proc/meminfo has no ") + key, {}};
}

// Hugetlb counts all page sizes, but kernels before 4.19 know only the default one.
Bytes hugetlb_pool(const Meminfo& values) {
    if (const auto all = find(values, "Hugetlb")) return *all;
    return {or_none(values, "HugePages_Total").n * or_none(values, "Hugepagesize").n};
}

}  // namespace

Result<HostMemory> parse_meminfo(std::string_view text) {
    const auto values = parse_lines(text);
    if (!values) return values.error();
    const auto total = find(*values, "MemTotal"), available = find(*values, "MemAvailable");
    if (!total) return missing("MemTotal");
    if (!available) return missing("MemAvailable");
    return HostMemory{.total = *total,
                      .available = *available,
                      .hugetlb = hugetlb_pool(*values),
                      .swap_total = or_none(*values, "SwapTotal"),
                      .swap_free = or_none(*values, "SwapFree"),
                      .pressure = std::nullopt};
}

Result<HostMemory> read_host(const SysRoot& root) {
    const auto text = read_file(root.proc / "meminfo");
    if (!text) return text.error();
    auto host = parse_meminfo(*text);
    if (!host) return host;
    // PSI may be compiled out (no file) or switched off (EOPNOTSUPP): then there is none, and that is no failure.
    if (const auto pressure = read_file(root.proc / "pressure/memory"))
        if (const auto parsed = parse_pressure(*pressure)) host->pressure = *parsed;
    return host;
}

Result<MeminfoDetail> parse_meminfo_detail(std::string_view text) {
    const auto values = parse_lines(text);
    if (!values) return values.error();
    const auto total = find(*values, "MemTotal"), unused = find(*values, "MemFree");
    if (!total) return missing("MemTotal");
    if (!unused) return missing("MemFree");
    MeminfoDetail detail{.used = *total - *unused, .stat = {}};
    detail.stat.anon = find(*values, "AnonPages");
    detail.stat.shmem = find(*values, "Shmem");
    detail.stat.file = or_none(*values, "Cached") + or_none(*values, "Buffers");  // with shmem, as memory.stat has it
    detail.stat.kernel_stack = find(*values, "KernelStack");
    detail.stat.slab = find(*values, "Slab");
    detail.stat.pagetables = find(*values, "PageTables");
    detail.stat.percpu = find(*values, "Percpu");
    detail.stat.slab_reclaimable = find(*values, "SReclaimable");
    detail.stat.active_anon = find(*values, "Active(anon)");
    detail.stat.inactive_anon = find(*values, "Inactive(anon)");
    detail.stat.unevictable = find(*values, "Unevictable");
    return detail;
}

Result<MemoryState> root_memory(const MeminfoDetail& detail, const HostMemory& host) {
    const auto parts = take_apart(detail.used, detail.stat);
    if (!parts) return parts.error();
    MemoryState state;
    state.usage = detail.used;
    state.by_kind = parts->by_kind;
    state.unreclaimable = parts->unreclaimable;
    state.swap = host.swap_total - host.swap_free;
    state.limit = Unlimited{};
    state.candidates = {host_candidate(host, host.swap_total.n > 0)};
    state.effective = nearest_limit(state.candidates);
    state.measured_at = "/proc/meminfo";
    return state;
}

Result<MemoryState> read_root_memory(const SysRoot& root, const HostMemory& host) {
    const auto text = read_file(root.proc / "meminfo");
    if (!text) return text.error();
    const auto detail = parse_meminfo_detail(*text);
    if (!detail) return detail.error();
    return root_memory(*detail, host);
}

}  // namespace memscope
