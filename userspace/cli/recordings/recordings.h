#pragma once
#include <string>

#include "base/result.h"
#include "cli/arguments/options.h"
#include "review/export.h"

// The commands that read recordings, except `memscope report`.
namespace memscope {

// How to get access to recordings and reports.
inline constexpr const char* kPermissionAdvice = "use sudo, or become a member of the group memscope";

// `terminal`: `write` goes to a terminal, which cannot show a binary format.
Status export_recording(const ExportOptions& options, const WriteText& write, bool terminal);

// The list of recordings, or the answer to --remove.
Result<std::string> show_recordings(const RecordingsOptions& options);

struct CompareAnswer {
    std::string output{};
    bool broken = false;  // a rule of --fail-on is broken
};
Result<CompareAnswer> compare_recordings(const CompareOptions& options);

}  // namespace memscope
