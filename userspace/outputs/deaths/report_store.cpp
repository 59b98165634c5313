#include "outputs/deaths/report_store.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace memscope {
namespace {

constexpr std::string_view kBegin = "death-";
constexpr std::string_view kEnd = ".json";
constexpr std::string_view kTemporaryBegin = ".report-";
constexpr std::time_t kAbandoned = 3600;  // seconds; no watcher takes that long to write a temporary file
constexpr std::size_t kMostTargetBytes = 60;
constexpr std::size_t kSlack = 10;  // part of a limit that is freed, so that the directory is not read at each write

// Unique to this watcher, because other watchers may write to the same directory.
std::string temporary_name() { return fmt::format("{}{}", kTemporaryBegin, ::getpid()); }

struct Entry {
    std::string name{};
    Bytes size{};
};

// Writes all of the content, or returns the error.
Status write_all(const Fd& file, std::string_view content) {
    while (!content.empty()) {
        const ssize_t n = ::write(file.get(), content.data(), content.size());
        if (n > 0)
            content.remove_prefix(static_cast<std::size_t>(n));
        else if (n == 0 || errno != EINTR)
            return system_error(n == 0 ? ENOSPC : errno, "write a report");
    }
    return Done{};
}

}  // namespace

Result<ReportStore> ReportStore::open(const fs::path& directory, const Limits& limits) {
    auto opened = open_owned_directory(directory, "--report-dir");
    if (!opened) return opened.error();
    return ReportStore(*std::move(opened), limits);
}

Status ReportStore::write_temporary(const std::string& name, std::string_view content) {
    const std::string temporary = temporary_name();
    (void)::unlinkat(directory_.fd.get(), temporary.c_str(), 0);  // left over from a killed watcher with our pid
    const Fd file(
        ::openat(directory_.fd.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return system_error(errno, "write " + (directory_.path / name).string());
    if (auto written = write_all(file, content); !written) return written;
    give_to(directory_.group, file);
    if (::fchmod(file.get(), 0640) != 0) return system_error(errno, "chmod " + (directory_.path / name).string());
    if (::renameat(directory_.fd.get(), temporary.c_str(), directory_.fd.get(), name.c_str()) != 0)
        return system_error(errno, "rename to " + (directory_.path / name).string());
    return Done{};
}

Status ReportStore::write(const std::string& name, std::string_view content) {
    if (content.size() > limits_.one.n)
        return plain_error(fmt::format("the report is too large: {}, at most {} are allowed",
                                       human_size(Bytes{content.size()}), human_size(limits_.one)));
    auto written = write_temporary(name, content);
    if (!written) (void)::unlinkat(directory_.fd.get(), temporary_name().c_str(), 0);
    ++files_;
    bytes_ += Bytes{content.size()};
    if (!counted_ || !written || files_ > limits_.files || bytes_ > limits_.all) prune(written ? name : "");
    return written;
}

// Removes only files that are ours by name and by owner, because the user may have chosen a directory with other files.
void ReportStore::prune(const std::string& spared) {
    std::vector<Entry> reports;
    Bytes sum;
    struct stat own{};
    // The mtime of the directory serves as the current time, because a file was written to it a moment ago.
    const std::time_t newest = ::fstat(directory_.fd.get(), &own) == 0 ? own.st_mtime : 0;
    for (std::string& name : names_in(directory_.fd)) {
        const bool temporary = name.starts_with(kTemporaryBegin);
        if (!temporary && !is_report_name(name)) continue;
        struct stat file{};
        if (::fstatat(directory_.fd.get(), name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISREG(file.st_mode) || !is_ours(file)) continue;
        if (temporary) {
            if (newest - file.st_mtime > kAbandoned) (void)::unlinkat(directory_.fd.get(), name.c_str(), 0);
            continue;
        }
        reports.push_back({std::move(name), Bytes{static_cast<std::uint64_t>(file.st_size)}});
        sum += reports.back().size;
    }
    counted_ = true;
    files_ = reports.size();
    bytes_ = sum;
    if (files_ <= limits_.files && bytes_ <= limits_.all) return;
    const std::size_t most_files = limits_.files - limits_.files / kSlack;
    const Bytes most_bytes{limits_.all.n - limits_.all.n / kSlack};
    for (const Entry& report : reports) {
        if (files_ <= most_files && bytes_ <= most_bytes) return;
        if (report.name == spared) continue;
        if (::unlinkat(directory_.fd.get(), report.name.c_str(), 0) != 0) continue;
        --files_;
        bytes_ = bytes_ - report.size;
    }
}

std::string report_name(double unix_seconds, std::string_view target, pid_t pid) {
    const auto seconds = static_cast<std::time_t>(unix_seconds);
    std::tm at{};
    ::gmtime_r(&seconds, &at);
    std::string plain;
    for (const char c : target.substr(target.size() > kMostTargetBytes ? target.size() - kMostTargetBytes : 0))
        plain += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
    return fmt::format("{}{}{:02}{:02}T{:02}{:02}{:02}Z-{}-{}{}", kBegin, at.tm_year + 1900, at.tm_mon + 1, at.tm_mday,
                       at.tm_hour, at.tm_min, at.tm_sec, plain, pid, kEnd);
}

bool is_report_name(std::string_view name) { return name.starts_with(kBegin) && name.ends_with(kEnd); }

Result<std::vector<fs::path>> find_reports(const fs::path& directory) {
    const auto top = open_directory(directory);
    if (!top) return top.error();
    std::vector<fs::path> reports;
    for (const std::string& name : names_in(*top)) {
        if (is_report_name(name)) reports.push_back(directory / name);
        if (name.starts_with('.')) continue;
        const auto folder = open_directory_at(*top, name.c_str());
        if (!folder) continue;
        for (const std::string& inner : names_in(*folder))
            if (is_report_name(inner)) reports.push_back(directory / name / inner);
    }
    std::ranges::stable_sort(reports, {}, [](const fs::path& path) { return path.filename().native(); });
    return reports;
}

}  // namespace memscope
