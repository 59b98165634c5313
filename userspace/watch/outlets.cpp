#include "watch/outlets.h"

#include <poll.h>
#include <unistd.h>

namespace memscope {

void warn(const Error& error) {
    const std::string line = "memscope: " + error.message() + "\n";
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

void warn_in_passing(const Error& error) {
    pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&standard_error, 1, 0) == 1) warn(error);
}

Result<std::optional<LineStream>> open_output(const WatchOptions& options) {
    if (options.quiet && !options.json) return std::optional<LineStream>{};
    // Standard output belongs to the command, if there is one.
    auto stream = LineStream::open(options.command.empty() || options.json ? STDOUT_FILENO : STDERR_FILENO);
    if (stream) return std::optional<LineStream>(std::move(*stream));
    if (options.json) return stream.error();
    return std::optional<LineStream>{};
}

std::optional<View> open_view(const WatchOptions& options, const GrowthSource& growth) {
    if (options.json || options.quiet || !options.command.empty()) return std::nullopt;
    auto view = View::open(growth);
    return view ? std::optional<View>(std::move(*view)) : std::nullopt;
}

std::optional<Result<ReportStore>> open_reports(const WatchOptions& options) {
    if (options.report_dir.empty()) return std::nullopt;
    auto store = ReportStore::open(options.report_dir);
    if (!store && (options.report_dir != kReportDirectory || ::geteuid() == 0)) warn(store.error());
    return store;
}

std::optional<RecordingStore> open_recordings(const WatchOptions& options) {
    if (options.record.empty()) return std::nullopt;
    auto store = RecordingStore::open(options.record, options.record_max);
    if (store) return std::optional(*std::move(store));
    if (options.record != kRecordingDirectory || ::geteuid() == 0)
        warn({store.error().code, "nothing is recorded: " + store.error().where, store.error().advice});
    return std::nullopt;
}

}  // namespace memscope
