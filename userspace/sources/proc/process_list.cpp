#include "sources/proc/process_list.h"

#include <optional>
#include <unistd.h>

#include "base/text.h"
#include "sources/cgroup/cgroup_path.h"
#include "sources/proc/procfs.h"

namespace memscope {
namespace {

constexpr std::size_t kStatusLimit = 8192;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

// False: the process cannot be read. A process that has ended meanwhile is not an error and has no memory.
bool read_process(const SysRoot& root, pid_t pid, int cgroup_version, std::optional<ListedProcess>& out) {
    const fs::path directory = root.proc / std::to_string(pid);
    const auto status = read_file(directory / "status", kStatusLimit);
    const auto text = read_file(directory / "stat", kStatusLimit);
    if (!status || !text) {
        const auto& error = !status ? status.error() : text.error();
        return error.code == std::errc::no_such_file_or_directory || error.code == std::errc::no_such_process;
    }
    const auto memory = parse_own_memory(*status);
    const auto stat = parse_process_stat(*text);
    if (!memory || !stat) return true;
    const auto comm = read_file(directory / "comm", 64);
    const auto cgroup = read_cgroup_path(root, pid, cgroup_version);
    const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    out = ListedProcess{.id = {pid, stat->start * (kNanosecondsPerSecond / ticks)},
                        .parent = stat->parent,
                        .comm = comm ? std::string(trimmed(*comm)) : std::string(),
                        .forked_without_exec = stat->forked,
                        .memory = *memory,
                        .cgroup = cgroup ? *cgroup : std::string()};
    return true;
}

}  // namespace

std::optional<Bytes> parse_own_memory(std::string_view status) {
    std::optional<Bytes> sum;
    for_each_line(status, [&](std::string_view line) {
        for (const std::string_view key : {"RssAnon:", "RssShmem:", "VmSwap:"}) {
            if (!line.starts_with(key)) continue;
            std::string_view value = trimmed(line.substr(key.size()));
            if (!value.ends_with(" kB")) continue;
            value.remove_suffix(3);
            constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;  // kB; a sum of three cannot overflow
            if (const auto kilobytes = parse_number(trimmed(value)); kilobytes && *kilobytes < kMost)
                sum = Bytes{sum.value_or(Bytes{}).n + *kilobytes * 1024};
        }
    });
    return sum;
}

ProcessList list_processes(const SysRoot& root, int cgroup_version, const ReadArgv& read_argv, std::size_t most) {
    ProcessList list;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root.proc, ignored)) {
        const auto pid = parse_number(entry.path().filename().native());
        if (!pid) continue;
        if (list.processes.size() >= most) {
            list.complete = false;
            break;
        }
        std::optional<ListedProcess> process;
        if (!read_process(root, static_cast<pid_t>(*pid), cgroup_version, process)) ++list.unreadable;
        if (!process) continue;
        if (process->memory.n > 0) process->argv = read_argv(process->id);
        list.processes.push_back(*std::move(process));
    }
    return list;
}

}  // namespace memscope
