#pragma once
#include <optional>

#include "outputs/deaths/report_store.h"
#include "outputs/text/line_stream.h"
#include "recording/store.h"
#include "view/view.h"
#include "watch/watch_options.h"

// The outputs of a watcher: standard output and error, the live view, death reports.
namespace memscope {

void warn(const Error& error);
// For the time of watching. Does not wait: a full pipe at standard error must not delay a tick.
void warn_in_passing(const Error& error);

// `nullopt` if nothing is to be printed or the standard stream is closed. With --json a closed stream is an error.
Result<std::optional<LineStream>> open_output(const WatchOptions& options);
// The live view, if the terminal supports it and the options allow it. None with a command, which uses the terminal.
std::optional<View> open_view(const WatchOptions& options, const GrowthSource& growth);
// Warns if the directory cannot be used, provided that the user named it or is root. For other users the error is
// reported when a death report has to be written.
std::optional<Result<ReportStore>> open_reports(const WatchOptions& options);

// Warns under the same conditions. `nullopt`: switched off, or not possible here.
std::optional<RecordingStore> open_recordings(const WatchOptions& options);

}  // namespace memscope
