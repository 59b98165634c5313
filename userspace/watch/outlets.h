#pragma once
#include <optional>

#include "outputs/deaths/report_store.h"
#include "outputs/text/line_stream.h"
#include "view/view.h"
#include "watch/watch_options.h"

// Where a watcher says what it has to say.
namespace memscope {

void warn(const Error& error);
// In the midst of watching: who does not read standard error must not hold up a tick.
void warn_in_passing(const Error& error);

// Nobody can read what has nowhere to go; for --json that is an error, for lines that matter to people it is not.
Result<std::optional<LineStream>> open_output(const WatchOptions& options);
// On a terminal that can show it, for a person who wants to see it. A command has the terminal for itself.
std::optional<View> open_view(const WatchOptions& options, const GrowthSource& growth);
// A directory that was named, or that root should have, is worth a warning if it cannot be used; anybody else learns of
// it when there is something to write.
std::optional<Result<ReportStore>> open_reports(const WatchOptions& options);

}  // namespace memscope
