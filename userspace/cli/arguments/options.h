#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/verdict/verdict.h"
#include "base/result.h"
#include "base/units.h"
#include "cli/series/named_series.h"
#include "outputs/http/listen.h"
#include "recording/store.h"
#include "review/compare.h"
#include "watch/watch_options.h"

namespace memscope {

inline constexpr const char* kDefaultConfig = "/etc/memscope.toml";

struct StatusOptions {
    std::optional<std::string> target{};
    bool json = false;
};
struct GrowthOptions {
    std::optional<std::string> target{};
    std::optional<std::size_t> top{};
    std::string format = "text";
    std::optional<std::string> since{};  // checked: see parse_since(); nullopt: the default of the format
    bool at_peak = false;
    bool stacks = false;
};
struct HeapOptions {
    std::optional<std::string> target{};  // of a running watcher
    std::optional<pid_t> pid{};           // without a target: read without a watcher
    std::optional<Seconds> again{};       // time until a second census
    std::size_t top = 5;                  // entries of each list
    std::optional<std::string> type{};    // only holders of this Python type
    bool json = false;
};
struct VerdictOptions {
    std::string file{};  // "-" for standard input
    SeriesChoice choice{};
    std::optional<Bytes> limit{};
    Seconds warmup = JudgeSettings{}.warmup;
    bool json = false;
    std::vector<Verdict> fail_on{};
};
struct ReportOptions {
    std::optional<std::string> file{};    // a death report, a recording or a target; nullopt: the last death report
    std::optional<std::string> target{};  // of a recording with several targets
    std::string recordings = kRecordingDirectory;
    std::string directory = WatchOptions{}.report_dir;
    bool json = false;
    std::optional<std::string> html{};  // write one HTML file instead
    bool with_commands = false;         // of the HTML file: also command lines of processes
};
struct WebOptions {
    std::optional<std::string> recording{};  // none: a running watcher
    std::optional<std::string> target{};
    ListenAddress listen{"127.0.0.1", 0};
    bool browser = true;
    std::string directory = kRecordingDirectory;
};
struct ExportOptions {
    std::string recording{};
    std::optional<std::string> target{};
    std::string format{};
    std::optional<std::string> from{};  // as typed: see parse_moment()
    std::optional<std::string> to{};
    std::optional<std::string> output{};  // none: standard output
    std::string directory = kRecordingDirectory;
};
struct ReplayOptions {
    std::string recording{};
    std::optional<std::string> target{};
    std::optional<std::string> from{};  // as typed: see parse_moment()
    double speed = 1;
    std::string directory = kRecordingDirectory;
};
struct RecordingsOptions {
    std::optional<std::string> remove{};
    bool json = false;
    std::string directory = kRecordingDirectory;
};
struct CompareOptions {
    std::string base{};
    std::string head{};
    std::optional<std::string> target{};
    std::vector<FailRule> rules{};
    std::string format = "text";
    std::string directory = kRecordingDirectory;
};
struct DoctorOptions {
    bool json = false;
};
struct DemoOptions {
    std::string scenario = "leak";
    std::optional<std::string> seconds{};  // length of the demo, as typed
};
struct NothingToWatch {  // memscope was called without arguments
    Error error{};
};
struct Help {
    std::string text{};
};
struct Version {};
using Command = std::variant<WatchOptions, StatusOptions, GrowthOptions, HeapOptions, VerdictOptions, ReportOptions,
                             ExportOptions, ReplayOptions, RecordingsOptions, CompareOptions, WebOptions, DoctorOptions,
                             DemoOptions, NothingToWatch, Help, Version>;

using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Environment variable whose value replaces the default of --record.
inline constexpr const char* kRecordVariable = "MEMSCOPE_RECORD";

// Parses the command line (without the program's name) and the config file. Prints nothing, never exits, and reads
// files only through `read_config`. That is called only for watching, because a broken config file must not keep
// `memscope doctor` from running. `record`: the value of kRecordVariable.
Result<Command> parse_command(std::span<const std::string> args, const ReadFile& read_config,
                              const char* record = nullptr);

}  // namespace memscope
