#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

inline constexpr const char* kReportDirectory = "/var/lib/memscope";

// A directory of reports, bounded in number and size: the oldest go first.
class ReportStore {
  public:
    struct Limits {
        std::size_t files = 100;
        Bytes all{std::uint64_t{64} << 20U};
        Bytes one{std::uint64_t{2} << 20U};
    };

    // Makes the directory where it is missing. To be called with all the privileges there are; afterwards it takes none
    // to write there. In a directory that belongs to somebody else (the service, when root starts a watcher by hand) a
    // folder of our own is made, named by our uid.
    static Result<ReportStore> open(const fs::path& directory, const Limits& limits);
    static Result<ReportStore> open(const fs::path& directory) { return open(directory, Limits{}); }

    // All of it under that name, or nothing; one of the same name is replaced. Then what is too much is removed.
    Status write(const std::string& name, std::string_view content);

    const fs::path& path() const { return path_; }

  private:
    ReportStore(fs::path path, Fd directory, const Limits& limits)
        : path_(std::move(path)), directory_(std::move(directory)), limits_(limits) {}

    Status write_temporary(const std::string& name, std::string_view content);
    void prune(const std::string& spared);

    fs::path path_;
    Fd directory_;
    Limits limits_;
};

// "death-20261115T150338Z-train-4711.json": sorted by name they are sorted by time.
std::string report_name(double unix_seconds, std::string_view target, pid_t pid);
bool is_report_name(std::string_view name);

// Reports in a directory and in the folders right below it, oldest first.
Result<std::vector<fs::path>> find_reports(const fs::path& directory);

}  // namespace memscope
