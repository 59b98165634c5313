#include "sources/proc/procfs.h"

#include <algorithm>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kArgvLimit = 4096;
constexpr std::size_t kArgumentLimit = 64;
constexpr std::size_t kEnvironLimit = std::size_t{256} << 10;

std::uint64_t ns_per_tick() { return 1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)); }

bool started_then(const ProcessStat& stat, std::uint64_t start_ns) {
    const std::uint64_t expected = start_ns / ns_per_tick();
    const std::uint64_t apart = std::max(expected, stat.start) - std::min(expected, stat.start);
    return apart <= 1;  // the kernel may round the other way
}

std::optional<ProcessStat> stat_of(const Fd& process) {
    const auto text = read_file_at(process, "stat");
    return text ? parse_process_stat(*text) : std::nullopt;
}

// The first definition counts, as for getenv.
std::optional<int> rank_in(const std::vector<std::string_view>& variables, std::string_view name) {
    constexpr std::size_t kMostDigits = 6;
    for (const std::string_view variable : variables) {
        if (!variable.starts_with(name) || variable.substr(name.size()).substr(0, 1) != "=") continue;
        const std::string_view value = variable.substr(name.size() + 1);
        const auto number = parse_number(value);
        return number && value.size() <= kMostDigits ? std::optional(static_cast<int>(*number)) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace

Result<Fd> open_process(const SysRoot& root, ProcessId id) {
    const auto gone = [] { return system_error(ESRCH, "open a process that has exited"); };
    auto directory = open_directory(root.proc / std::to_string(id.pid));
    if (!directory) return gone();
    const auto stat = stat_of(*directory);
    if (!stat || !started_then(*stat, id.start_ns)) return gone();
    return directory;
}

std::optional<ProcessId> process_with(const SysRoot& root, pid_t pid) {
    const auto directory = open_directory(root.proc / std::to_string(pid));
    const auto stat = directory ? stat_of(*directory) : std::nullopt;
    if (!stat) return std::nullopt;
    return ProcessId{pid, stat->start * ns_per_tick()};
}

// The memory is freed when the last thread exits, which can be long after the first thread.
bool is_ending(const SysRoot& root, ProcessId id) {
    const auto directory = open_process(root, id);
    const auto stat = directory ? stat_of(*directory) : std::nullopt;
    if (!stat || !stat->exiting) return false;
    const bool has_ended = stat->state == 'Z' || stat->state == 'X';
    return !has_ended || stat->threads > 1;
}

std::optional<ProcessDetails> read_details(const SysRoot& root, ProcessId id) {
    const auto directory = open_process(root, id);
    if (!directory) return std::nullopt;

    const auto argv = read_file_at(*directory, "cmdline", kArgvLimit);
    if (!argv) return std::nullopt;
    ProcessDetails details{.argv = parse_argv(*argv), .rank = {}};
    if (auto environ = read_file_at(*directory, "environ", kEnvironLimit)) {
        if (environ->size() == kEnvironLimit) environ->resize(environ->rfind('\0') + 1);  // npos + 1 is 0
        details.rank = parse_rank(*environ);
    }
    return details;
}

std::vector<std::string> parse_argv(std::string_view nul_separated) {
    nul_separated = nul_separated.substr(0, kArgvLimit);
    // A process that changes its title fills the rest with NULs.
    const auto last = nul_separated.find_last_not_of('\0');
    if (last == std::string_view::npos) return {};
    const auto parts = split(nul_separated.substr(0, last + 1), '\0');
    return {parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), kArgumentLimit))};
}

std::optional<int> parse_rank(std::string_view environ) {
    const auto variables = split(environ.substr(0, kEnvironLimit), '\0');
    for (const std::string_view name : {"RANK", "LOCAL_RANK", "SLURM_PROCID"})
        if (const auto rank = rank_in(variables, name)) return rank;
    return std::nullopt;
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
    // The name in parentheses may contain spaces and parentheses, so the last parenthesis ends it.
    const auto end_of_name = text.rfind(')');
    if (end_of_name == std::string_view::npos) return std::nullopt;
    const auto fields = split(trimmed(text.substr(end_of_name + 1)), ' ');
    constexpr std::size_t kFirstField = 3;  // number of the first field after the name in proc(5)
    const auto field = [&](std::size_t number) {
        return number - kFirstField < fields.size() ? parse_number(fields[number - kFirstField]) : std::nullopt;
    };
    const auto parent = field(4), user = field(14), system = field(15), children = field(16), their_system = field(17);
    const auto threads = field(20), start = field(22), size = field(23);
    if (!parent || !user || !system || !children || !their_system || !threads || !start || !size) return std::nullopt;
    constexpr std::uint64_t kExiting = 0x4, kForked = 0x40;  // PF_EXITING, PF_FORKNOEXEC
    const std::string_view state = fields.front();
    return ProcessStat{.parent = static_cast<pid_t>(*parent),
                       .user = *user,
                       .system = *system,
                       .children = *children + *their_system,
                       .threads = *threads,
                       .start = *start,
                       .virtual_size = *size,
                       .state = state.empty() ? '?' : state.front(),
                       .exiting = (field(9).value_or(0) & kExiting) != 0,
                       .forked = (field(9).value_or(0) & kForked) != 0};
}

Seconds cpu_time_of(const SysRoot& root, const std::set<pid_t>& processes) {
    constexpr std::size_t kMost = 256;
    const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    Seconds sum{};
    std::size_t read = 0;
    for (const pid_t pid : processes) {
        if (++read > kMost) break;
        const auto text = read_file(root.proc / std::to_string(pid) / "stat", 4096);
        const auto stat = text ? parse_process_stat(*text) : std::nullopt;
        if (stat) sum += Seconds(static_cast<double>(stat->user + stat->system + stat->children) / ticks_per_second);
    }
    return sum;
}

}  // namespace memscope
