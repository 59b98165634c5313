#include "cli/recordings/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/arguments/command_line.h"
#include "cli/recordings/new_file.h"
#include "cli/recordings/recordings.h"
#include "cli/recordings/report_file.h"
#include "outputs/deaths/death_text.h"
#include "outputs/deaths/report_store.h"
#include "recording/recording.h"
#include "review/find_recording.h"
#include "review/run_text.h"
#include "web/html_report.h"

namespace memscope {
namespace {

constexpr const char* kNoReport =
    "memscope writes a report when a watched process dies; --report-dir names another directory";

bool is_forbidden(const Error& error) {
    return error.code == std::errc::permission_denied || error.code == std::errc::operation_not_permitted;
}

Result<fs::path> newest(const std::string& directory) {
    const auto reports = find_reports(directory);
    if (!reports) {
        if (reports.error().code == std::errc::no_such_file_or_directory)
            return plain_error("there is no death report: the directory " + directory + " does not exist", kNoReport);
        return Error{reports.error().code, reports.error().where,
                     is_forbidden(reports.error()) ? kPermissionAdvice : ""};
    }
    if (reports->empty()) return plain_error("there is no death report in " + directory, kNoReport);
    return reports->back();
}

// Refuses a FIFO or a device, because reading it could block or never end.
Status must_be_plain(const fs::path& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) return system_error(errno, "open " + path.string());
    if (!S_ISREG(file.st_mode)) return plain_error(path.string() + ": is not a regular file");
    if (static_cast<std::uint64_t>(file.st_size) >= kMostReportBytes)
        return plain_error(path.string() + ": is too large for a report");
    return Done{};
}

Result<std::string> content_of(const fs::path& path) {
    if (auto plain = must_be_plain(path); !plain) return plain.error();
    auto text = read_file(path, kMostReportBytes);
    if (!text) return Error{text.error().code, text.error().where, is_forbidden(text.error()) ? kPermissionAdvice : ""};
    return text;
}

}  // namespace

namespace {

// True if the user means a recording, not the JSON file of a death report: a file that is a recording or ends in
// ".memscope", or the name of a target (no file has this name, and it does not end in ".json").
bool means_recording(const std::string& given) {
    std::error_code failed;
    if (given.ends_with(kRecordingSuffix)) return true;
    if (!fs::exists(given, failed)) return !given.ends_with(".json");
    return looks_like_recording(given);
}

Result<std::string> show_run(const ReportOptions& options, bool colour) {
    const auto path = find_recording(*options.file, options.recordings);
    if (!path) return path.error();
    auto recording = Recording::open(*path);
    if (!recording) return recording.error();
    const auto target = recording->target(named_target(*recording, options.target, *options.file));
    if (!target) return target.error();
    const auto run = summarize(*recording, *target);
    if (!run) return run.error();
    return options.json ? run_json(*run) : run_text(*run, colour);
}

}  // namespace

Result<std::string> write_html_report(const ReportOptions& options) {
    if (!means_recording(*options.file))
        return plain_error(*options.file + ": is a death report", "--html needs a recording");
    const auto files = web::load_page_files();
    if (!files) return files.error();
    const auto path = find_recording(*options.file, options.recordings);
    if (!path) return path.error();
    const auto opened = Recording::open(*path);
    if (!opened) return opened.error();
    const auto run = web::RecordedRun::open(*path, named_target(*opened, options.target, *options.file));
    if (!run) return run.error();
    std::error_code failed;
    const fs::path out(*options.html);
    if (fs::equivalent(*path, out, failed))
        return plain_error(out.string() + ": is the recording itself", "choose another file");
    const auto html = web::html_report(*run, *files, {.with_commands = options.with_commands});
    if (!html) return html.error();
    if (auto written = write_new_file(out, "--html", [&](const WriteText& write) { return write(*html); }); !written)
        return written.error();
    return fmt::format("{}: {}\n", printable(out.string()), human_size(Bytes{html->size()}));
}

Result<std::string> show_report(const ReportOptions& options, bool colour) {
    if (options.file && means_recording(*options.file)) return show_run(options, colour);
    const auto path = options.file ? Result<fs::path>(*options.file) : newest(options.directory);
    if (!path) return path.error();
    const auto text = content_of(*path);
    if (!text) return text.error();
    if (options.json) {
        const auto json = report_as_json(*text);
        return json ? json : about(path->string(), json.error());
    }
    const auto report = parse_report(*text);
    if (!report) return about(path->string(), report.error());
    return death_story(*report, colour);
}

}  // namespace memscope
