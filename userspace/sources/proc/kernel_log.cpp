#include "sources/proc/kernel_log.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kLongestRecord = 8192;  // the longest record of the kernel; a read into a smaller buffer fails
// The kernel logs every process of the machine at an OOM kill, so the number of skipped records is bounded, too.
constexpr int kMostRecords = 100'000;

OomConstraint constraint_named(std::string_view word) {
    if (word == "CONSTRAINT_MEMCG") return OomConstraint::cgroup;
    if (word == "CONSTRAINT_NONE") return OomConstraint::host;
    if (word == "CONSTRAINT_CPUSET") return OomConstraint::cpuset;
    if (word == "CONSTRAINT_MEMORY_POLICY") return OomConstraint::mempolicy;
    return OomConstraint::unknown;
}

// The text between two marks that each occur exactly once. A mark that occurs twice may be part of a name.
std::string_view only_between(std::string_view text, std::string_view begin, std::string_view end) {
    const auto from = text.find(begin);
    const auto to = text.find(end);
    if (from == std::string_view::npos || to == std::string_view::npos || to < from + begin.size()) return {};
    if (text.find(begin, from + 1) != std::string_view::npos || text.find(end, to + 1) != std::string_view::npos)
        return {};
    return text.substr(from + begin.size(), to - from - begin.size());
}

// The log writes "/a/b" for the path a/b below the hierarchy.
std::string below_hierarchy(std::string_view path) {
    if (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
}

// The number after the last ",key=". No name of a process or cgroup comes after it.
std::optional<std::uint64_t> last_number(std::string_view text, std::string_view key) {
    const auto at = text.rfind(key);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(at + key.size());
    return parse_number(rest.substr(0, rest.find(',')));
}

}  // namespace

std::optional<LoggedOomKill> parse_oom_line(std::string_view record) {
    constexpr std::string_view kBegin = "oom-kill:constraint=";
    // "6,1234,5678,-;text": the text begins after the first semicolon. Only the kernel's own message begins with
    // kBegin.
    const auto prefix = record.find(';');
    if (prefix == std::string_view::npos || !record.substr(prefix + 1).starts_with(kBegin)) return std::nullopt;
    std::string_view text = record.substr(prefix + 1 + kBegin.size());
    text = text.substr(0, text.find('\n'));
    const auto pid = last_number(text, ",pid=");
    if (!pid || *pid == 0 || *pid > static_cast<std::uint64_t>(INT32_MAX)) return std::nullopt;
    return LoggedOomKill{.thread = static_cast<pid_t>(*pid),
                         .constraint = constraint_named(text.substr(0, text.find(','))),
                         .limit_owner = below_hierarchy(only_between(text, ",oom_memcg=", ",task_memcg=")),
                         .victim_cgroup = below_hierarchy(only_between(text, ",task_memcg=", ",task="))};
}

Result<KernelLog> KernelLog::open(const SysRoot& root) {
    const fs::path path = root.dev / "kmsg";
    Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file) return system_error(errno, "open " + path.string());
    if (::lseek(file.get(), 0, SEEK_END) < 0) return system_error(errno, "seek in " + path.string());
    return KernelLog(std::move(file));
}

void KernelLog::take(const std::function<void(const LoggedOomKill&)>& visit) {
    char record[kLongestRecord];
    for (int i = 0; i < kMostRecords; ++i) {
        const ssize_t size = ::read(file_.get(), record, sizeof record);
        if (size > 0) {
            if (const auto kill = parse_oom_line({record, static_cast<std::size_t>(size)})) visit(*kill);
        } else if (size < 0 && errno == EPIPE) {
            ++overrun_;  // the next read continues with the oldest line that is left
        } else {
            return;
        }
    }
}

}  // namespace memscope
