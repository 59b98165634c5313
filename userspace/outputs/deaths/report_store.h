#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/files.h"
#include "base/owned_directory.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

inline constexpr const char* kReportDirectory = "/var/lib/memscope";

// A directory of reports, bounded in number and size. The oldest reports are removed first. Only open() looks
// up the group of the files, because that can ask a directory server.
class ReportStore {
  public:
    struct Limits {
        std::size_t files = 100;
        Bytes all{std::uint64_t{64} << 20U};
        Bytes one{std::uint64_t{3} << 20U};
    };

    // Creates the directory if it is missing. Call it before privileges are dropped; writing reports later needs none.
    // If the directory belongs to another user (the service, when root starts a watcher by hand), reports go to a
    // folder of our own in it, named after our uid.
    static Result<ReportStore> open(const fs::path& directory, const Limits& limits);
    static Result<ReportStore> open(const fs::path& directory) { return open(directory, Limits{}); }

    // Writes the whole report or nothing, and replaces a report of the same name. If that exceeds a limit, removes the
    // oldest reports until a tenth of the limit is free.
    Status write(const std::string& name, std::string_view content);

    const fs::path& path() const { return directory_.path; }

  private:
    ReportStore(OwnedDirectory directory, const Limits& limits) : directory_(std::move(directory)), limits_(limits) {}

    Status write_temporary(const std::string& name, std::string_view content);
    void prune(const std::string& spared);

    OwnedDirectory directory_;
    Limits limits_;
    bool counted_ = false;   // the directory has been read, so that files_ and bytes_ are known
    std::size_t files_ = 0;  // upper bound: a report that is written twice counts twice until the directory is read
    Bytes bytes_{};          // upper bound, like files_
};

// "death-20261115T150338Z-train-4711.json". Sorting by name sorts by time.
std::string report_name(double unix_seconds, std::string_view target, pid_t pid);
bool is_report_name(std::string_view name);

// Reports in a directory and in the folders right below it, oldest first.
Result<std::vector<fs::path>> find_reports(const fs::path& directory);

}  // namespace memscope
