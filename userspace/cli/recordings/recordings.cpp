#include "cli/recordings/recordings.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/arguments/command_line.h"
#include "cli/recordings/moment.h"
#include "cli/recordings/new_file.h"
#include "outputs/json/json_writer.h"
#include "recording/recording.h"
#include "review/compare_text.h"
#include "review/find_recording.h"
#include "review/run_text.h"

namespace memscope {
namespace {

// The last sample of the recording.
Result<RecordedSample> last_sample(Recording& recording, const RecordedTarget& target) {
    RecordedSample last;
    auto read = recording.each_sample(target, {}, [&last](const RecordedSample& sample) {
        last = sample;
        return true;
    });
    if (!read) return read.error();
    return last;
}

Result<RecordedSpan> span_of(Recording& recording, const RecordedTarget& target, const ExportOptions& options) {
    RecordedSpan span;
    if (!options.from && !options.to) return span;
    const auto last = last_sample(recording, target);
    if (!last) return last.error();
    const auto now = static_cast<double>(std::time(nullptr));
    const auto since_begin = [&](const std::string& option, const std::string& text) -> Result<Seconds> {
        const auto moment = parse_moment(text, now, last->time);
        if (!moment) return about(option, moment.error());
        return recording.place_of(target, *moment);
    };
    if (options.from) {
        const auto from = since_begin("--from", *options.from);
        if (!from) return from.error();
        span.from = *from;
    }
    if (options.to) {
        const auto to = since_begin("--to", *options.to);
        if (!to) return to.error();
        span.to = *to;
    }
    return span;
}

struct ListedRecording {
    fs::path path{};
    std::string target{};
    double from = 0;
    double to = 0;
    Bytes size{};
    std::string verdict{};  // the last one
    std::string death{};    // the last one
    std::string trouble{};  // why the recording cannot be read
};

ListedRecording list_one(const fs::path& path) {
    ListedRecording listed{.path = path};
    struct stat file{};
    if (::stat(path.c_str(), &file) == 0) listed.size = Bytes{static_cast<std::uint64_t>(file.st_size)};
    auto recording = Recording::open(path);
    if (!recording) {
        listed.trouble = recording.error().message();
        return listed;
    }
    listed.from = listed.to = recording->began();
    const auto& targets = recording->targets();
    listed.target = targets.size() == 1 ? targets.front().info.name : fmt::format("{} targets", targets.size());
    for (const RecordedTarget& target : targets) {
        const auto last = last_sample(*recording, target);
        const auto events = recording->events(target);
        if (!last || !events) {
            listed.trouble = last ? events.error().message() : last.error().message();
            return listed;
        }
        listed.to = std::max(listed.to, recording->began() + last->at.count());
        for (const RecordedEvent& event : *events) {
            const std::string first_word = event.text.substr(0, event.text.find(':'));
            if (event.kind == "verdict") listed.verdict = first_word;
            if (event.kind == "death") listed.death = first_word;
        }
    }
    return listed;
}

std::string recordings_json(const std::vector<ListedRecording>& all) {
    JsonWriter json;
    json.object([&] {
        json.list("recordings", [&] {
            for (const ListedRecording& each : all)
                json.object([&] {
                    json.field("file", each.path.string());
                    json.field("bytes", each.size);
                    if (!each.trouble.empty()) {
                        json.field("error", each.trouble);
                        return;
                    }
                    json.field("target", each.target);
                    json.field("from", each.from);
                    json.field("to", each.to);
                    json.field("verdict", each.verdict);
                    json.field("death", each.death);
                });
        });
    });
    return json.text() + "\n";
}

std::string recordings_text(const std::vector<ListedRecording>& all) {
    std::string text;
    for (const ListedRecording& each : all) {
        if (!each.trouble.empty()) {
            text += fmt::format("{}\n  cannot be read: {}\n", printable(each.path.string()), each.trouble);
            continue;
        }
        text += fmt::format("{}\n  {}, {} for {}, {}{}{}\n", printable(each.path.string()), printable(each.target),
                            clock_text(each.from), human_duration(Seconds(each.to - each.from)), human_size(each.size),
                            each.verdict.empty() ? "" : ", " + printable(each.verdict),
                            each.death.empty() ? "" : ", death: " + printable(each.death));
    }
    return text;
}

Result<std::vector<RunSummary>> runs_of(const std::string& given, const CompareOptions& options) {
    const auto paths = find_all_recordings(given, options.directory);
    if (!paths) return paths.error();
    std::vector<RunSummary> runs;
    for (const fs::path& path : *paths) {
        auto recording = Recording::open(path);
        if (!recording) return recording.error();
        const auto target = recording->target(named_target(*recording, options.target, given));
        if (!target) return target.error();
        auto run = summarize(*recording, *target);
        if (!run) return run.error();
        runs.push_back(*std::move(run));
    }
    return runs;
}

Status export_to(const ExportOptions& options, const WriteText& write) {
    const auto path = find_recording(options.recording, options.directory);
    if (!path) return path.error();
    auto recording = Recording::open(*path);
    if (!recording) return recording.error();
    if (options.format == "recording") return export_recording_copy(*recording, write);
    const auto target = recording->target(named_target(*recording, options.target, options.recording));
    if (!target) return target.error();
    const auto span = span_of(*recording, *target, options);
    if (!span) return span.error();
    if (options.format == "json") return export_json(*recording, *target, *span, write);
    if (options.format == "perfetto") return export_perfetto(*recording, *target, *span, write);
    if (options.format == "openmetrics") return export_openmetrics(*recording, *target, *span, write);
    return export_csv(*recording, *target, *span, write);
}

Status export_to_file(const ExportOptions& options, const fs::path& path) {
    std::error_code failed;
    if (const auto source = find_recording(options.recording, options.directory);
        source && fs::equivalent(*source, path, failed))
        return plain_error(path.string() + ": is the recording itself", "choose another file");
    return write_new_file(path, "--output", [&](const WriteText& write) { return export_to(options, write); });
}

}  // namespace

Status export_recording(const ExportOptions& options, const WriteText& write, bool terminal) {
    if (options.output) return export_to_file(options, *options.output);
    if (terminal && (options.format == "perfetto" || options.format == "recording"))
        return plain_error(fmt::format("the format {} is binary", options.format), "name a file with --output");
    return export_to(options, write);
}

Result<std::string> show_recordings(const RecordingsOptions& options) {
    if (options.remove) {
        const auto path = find_recording(*options.remove, options.directory);
        if (!path) return path.error();
        if (auto removed = remove_recording(*path); !removed) return removed.error();
        return "removed " + printable(path->string()) + "\n";
    }
    const auto paths = find_recordings(options.directory);
    if (!paths) {
        const auto code = paths.error().code;
        const bool forbidden = code == std::errc::permission_denied;
        return Error{code, paths.error().where, forbidden ? kPermissionAdvice : "memscope records when it watches"};
    }
    std::vector<ListedRecording> all;
    for (const fs::path& path : *paths) all.push_back(list_one(path));
    if (options.json) return recordings_json(all);
    return all.empty() ? "there is no recording in " + options.directory + "\n" : recordings_text(all);
}

Result<CompareAnswer> compare_recordings(const CompareOptions& options) {
    const auto base = runs_of(options.base, options);
    if (!base) return base.error();
    const auto head = runs_of(options.head, options);
    if (!head) return head.error();
    const Comparison comparison = compare(*base, *head);
    const auto rules = check_rules(options.rules, comparison);
    CompareAnswer answer{.broken = std::ranges::any_of(rules, &RuleResult::broken)};
    if (options.format == "markdown")
        answer.output = comparison_markdown(comparison, rules);
    else if (options.format == "junit")
        answer.output = comparison_junit(comparison, rules);
    else if (options.format == "json")
        answer.output = comparison_json(comparison, rules);
    else
        answer.output = comparison_text(comparison, rules);
    return answer;
}

}  // namespace memscope
