#include "sources/proc/host.h"

#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "sources/cgroup/memory_parts.h"

namespace memscope {
namespace {

// New kernels add lines, and a line need not hold a number. So a malformed line is an error only if it is read.
class Meminfo {
  public:
    explicit Meminfo(std::string_view text) {
        for_each_line(text, [&](std::string_view line) {
            const auto colon = line.find(':');
            if (colon != std::string_view::npos) values_[line.substr(0, colon)] = trimmed(line.substr(colon + 1));
        });
    }

    // In bytes; counts of pages stay counts. None if this kernel has no such line.
    std::optional<Bytes> find(std::string_view key) {
        constexpr std::uint64_t kKibi = 1024;
        const auto found = values_.find(key);
        if (found == values_.end()) return std::nullopt;
        std::string_view value = found->second;
        const bool kilobytes = value.ends_with(" kB");
        if (kilobytes) value = trimmed(value.substr(0, value.size() - 3));
        const auto number = parse_number(value);
        if (!number) wrong(fmt::format("has '{}' for {}", shortened(found->second), key));
        return number ? std::optional(Bytes{kilobytes ? *number * kKibi : *number}) : std::nullopt;
    }
    Bytes or_zero(std::string_view key) { return find(key).value_or(Bytes{}); }
    Bytes needed(std::string_view key) {
        if (!values_.contains(key)) wrong(fmt::format("has no {}", key));
        return or_zero(key);
    }
    const std::optional<Error>& error() const { return error_; }  // the first error; check it after the last read

  private:
    void wrong(const std::string& what) {
        if (!error_) error_ = Error{std::make_error_code(std::errc::bad_message), "/proc/meminfo " + what, {}};
    }

    std::map<std::string_view, std::string_view> values_;
    std::optional<Error> error_;
};

// Hugetlb counts all page sizes. Kernels before 4.19 lack it and report only the default page size.
Bytes hugetlb_pool(Meminfo& values) {
    if (const auto all = values.find("Hugetlb")) return *all;
    return {values.or_zero("HugePages_Total").n * values.or_zero("Hugepagesize").n};
}

}  // namespace

Result<HostMemory> parse_meminfo(std::string_view text) {
    Meminfo values(text);
    const HostMemory host{.total = values.needed("MemTotal"),
                          .available = values.needed("MemAvailable"),
                          .hugetlb = hugetlb_pool(values),
                          .swap_total = values.or_zero("SwapTotal"),
                          .swap_free = values.or_zero("SwapFree"),
                          .swap_cached = values.or_zero("SwapCached"),
                          .pressure = std::nullopt};
    if (values.error()) return *values.error();
    return host;
}

Result<HostMemory> read_host(const SysRoot& root) {
    const auto text = read_file(root.proc / "meminfo");
    if (!text) return text.error();
    auto host = parse_meminfo(*text);
    if (!host) return host;
    // PSI can be compiled out (no file) or disabled (EOPNOTSUPP). Then there is no pressure, which is not an error.
    if (const auto pressure = read_file(root.proc / "pressure/memory"))
        if (const auto parsed = parse_pressure(*pressure)) host->pressure = *parsed;
    return host;
}

Result<MeminfoDetail> parse_meminfo_detail(std::string_view text) {
    Meminfo values(text);
    MeminfoDetail detail{.used = values.needed("MemTotal") - values.needed("MemFree"), .stat = {}};
    detail.stat.anon = values.find("AnonPages");
    detail.stat.shmem = values.find("Shmem");
    detail.stat.file = values.or_zero("Cached") + values.or_zero("Buffers");  // includes shmem, as in memory.stat
    detail.stat.kernel_stack = values.find("KernelStack");
    detail.stat.slab = values.find("Slab");
    detail.stat.pagetables = values.find("PageTables");
    detail.stat.percpu = values.find("Percpu");
    detail.stat.slab_reclaimable = values.find("SReclaimable");
    detail.stat.active_anon = values.find("Active(anon)");
    detail.stat.inactive_anon = values.find("Inactive(anon)");
    detail.stat.unevictable = values.find("Unevictable");
    if (values.error()) return *values.error();
    return detail;
}

Result<MemoryState> root_memory(const MeminfoDetail& detail, const HostMemory& host) {
    const auto parts = split_usage(detail.used, detail.stat);
    if (!parts) return parts.error();
    MemoryState state;
    state.usage = detail.used;
    state.by_kind = parts->by_kind;
    state.unreclaimable = parts->unreclaimable;
    state.swap = host.swap_total - host.swap_free;
    state.swap_cached = host.swap_cached;
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
