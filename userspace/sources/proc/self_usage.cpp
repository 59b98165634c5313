#include "sources/proc/self_usage.h"

#include <dirent.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

Error not_understood(const char* file) {
    return {std::make_error_code(std::errc::bad_message), std::string("unexpected format of /proc/") + file, {}};
}

Result<std::uint64_t> count_open_files(const Fd& self) {
    auto directory = open_directory_at(self, "fd");
    if (!directory) return directory.error();
    struct Close {
        void operator()(DIR* stream) const { ::closedir(stream); }
    };
    const std::unique_ptr<DIR, Close> stream(::fdopendir(directory->get()));
    if (!stream) return system_error(errno, "list open files");
    directory->release();
    std::uint64_t count = 0;
    while (const dirent* entry = ::readdir(stream.get()))
        if (entry->d_name[0] != '.') ++count;
    return count;
}

Result<double> read_start_time(const SysRoot& root, std::uint64_t start_ticks) {
    constexpr std::size_t kProcStatLimit = std::size_t{4} << 20;  // the file has a column per CPU and interrupt
    const auto text = read_file(root.proc / "stat", kProcStatLimit);
    if (!text) return text.error();
    const auto boot = parse_boot_time(*text);
    if (!boot) return not_understood("stat");
    return *boot + static_cast<double>(start_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The second number of statm, in pages.
std::optional<Bytes> parse_resident(std::string_view statm) {
    const auto fields = split(trimmed(statm), ' ');
    const auto pages = fields.size() > 1 ? parse_number(fields[1]) : std::nullopt;
    if (!pages) return std::nullopt;
    return Bytes{*pages * page_bytes()};
}

}  // namespace

std::optional<std::uint64_t> parse_max_open_files(std::string_view limits) {
    constexpr std::string_view kName = "Max open files";
    std::optional<std::uint64_t> soft;
    for_each_line(limits, [&](std::string_view line) {
        if (!line.starts_with(kName)) return;
        const std::string_view values = trimmed(line.substr(kName.size()));
        soft = parse_number(values.substr(0, values.find(' ')));
    });
    return soft;
}

std::optional<double> parse_boot_time(std::string_view proc_stat) {
    constexpr std::string_view kName = "btime ";
    std::optional<double> boot;
    for_each_line(proc_stat, [&](std::string_view line) {
        if (!line.starts_with(kName)) return;
        if (const auto seconds = parse_number(trimmed(line.substr(kName.size())))) boot = static_cast<double>(*seconds);
    });
    return boot;
}

namespace {

// Values that change slowly or never and are slow to read, above all /proc/stat on machines with many CPUs.
Status read_slow_parts(const SysRoot& root, const Fd& self, std::uint64_t start_ticks, SelfSample& usage) {
    const auto limits = read_file_at(self, "limits");
    if (!limits) return limits.error();
    const auto files = count_open_files(self);
    if (!files) return files.error();
    const auto start = read_start_time(root, start_ticks);
    if (!start) return start.error();
    usage.max_open_files = parse_max_open_files(*limits).value_or(0);
    usage.open_files = *files > 2 ? *files - 2 : 0;  // minus the two descriptors that the count itself had open
    usage.start_time = *start;
    return Done{};
}

}  // namespace

Result<SelfSample> read_self(const SysRoot& root, const std::optional<SelfSample>& known) {
    const auto self = open_directory(root.proc / "self");
    if (!self) return self.error();
    const auto stat_text = read_file_at(*self, "stat"), statm = read_file_at(*self, "statm");
    if (!stat_text) return stat_text.error();
    if (!statm) return statm.error();
    const auto stat = parse_process_stat(*stat_text);
    const auto resident = parse_resident(*statm);
    if (!stat) return not_understood("self/stat");
    if (!resident) return not_understood("self/statm");

    SelfSample usage;
    usage.cpu = Seconds(static_cast<double>(stat->user + stat->system) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
    usage.resident = *resident;
    usage.virtual_size = Bytes{stat->virtual_size};
    usage.threads = stat->threads;
    if (known) {
        usage.max_open_files = known->max_open_files;
        usage.open_files = known->open_files;
        usage.start_time = known->start_time;
        return usage;
    }
    if (auto done = read_slow_parts(root, *self, stat->start, usage); !done) return done.error();
    return usage;
}

}  // namespace memscope
