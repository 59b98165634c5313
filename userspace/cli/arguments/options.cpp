#include "cli/arguments/options.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/arguments/command_line.h"
#include "cli/arguments/config.h"
#include "cli/arguments/help.h"
#include "cli/series/sample_text.h"
#include "demo/scenario.h"
#include "model/growth/growth_request.h"
#include "outputs/http/host_check.h"
#include "review/replay.h"

namespace memscope {
namespace {

// Parsers of values. The caller puts the name of the option before their errors.

Result<pid_t> parse_pid(const std::string& text) {
    const auto number = parse_number(text);
    if (!number || *number == 0 || *number > 1U << 22U)  // the largest pid_max there is
        return plain_error(fmt::format("'{}' is not a pid", shortened(text)), "`ps` lists the pids");
    return static_cast<pid_t>(*number);
}

// `things`: what is counted, for the error.
auto parse_count(const char* things) {
    return [things](const std::string& text) -> Result<std::size_t> {
        const auto number = parse_number(text);
        if (number && *number > 0) return *number;
        return plain_error(fmt::format("'{}' is not a number of {}", shortened(text), things), kSeeHelp);
    };
}

auto parse_format(std::vector<std::string> formats) {
    return [formats = std::move(formats)](const std::string& text) -> Result<std::string> {
        if (std::ranges::find(formats, text) != formats.end()) return text;
        return plain_error(fmt::format("'{}' is unknown", shortened(text)),
                           did_you_mean(text, formats, fmt::format("the formats are: {}", fmt::join(formats, ", "))));
    };
}

Result<Seconds> parse_again(const std::string& text) {
    constexpr Seconds kLongest{3600};
    auto time = parse_duration(text);
    if (time && (time->count() <= 0 || *time > kLongest))
        return plain_error("must be more than 0 s and at most 1 h", kSeeHelp);
    return time;
}

Result<Seconds> parse_interval(const std::string& text) {
    auto duration = parse_duration(text);
    if (duration && duration->count() <= 0) return plain_error("must be more than 0 s", kSeeHelp);
    return duration;
}

Result<std::string> parse_unit_name(const std::string& text) {
    if (parse_unit(text)) return text;
    return plain_error(fmt::format("'{}' is not a unit", shortened(text)),
                       "one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
}

Result<double> parse_speed(const std::string& text) {
    const auto number = parse_number(text);
    if (number && *number > 0 && static_cast<double>(*number) <= Replay::kFastest) return static_cast<double>(*number);
    return plain_error(fmt::format("'{}' is not a number from 1 to {}", shortened(text), Replay::kFastest),
                       "1 is the speed of the job, 60 shows a minute in a second");
}

// The page shows names of processes and code. HTTP without TLS must not carry them over a network.
Result<ListenAddress> parse_page_address(const std::string& text) {
    auto address = parse_listen(text);
    if (address && !is_loopback(*address))
        return plain_error("memscope web serves loopback addresses only",
                           "from another machine use ssh -L, see docs/web.md");
    return address;
}

Status read_config_file(WatchOptions& options, const std::optional<std::string>& given, const ReadFile& read_config) {
    const std::string path = given.value_or(kDefaultConfig);
    const auto text = read_config(path);
    if (text) return apply_config(options, *text, path);
    if (!given && text.error().code == std::errc::no_such_file_or_directory) return Done{};
    return Error{text.error().code, "config file: " + text.error().where,
                 given ? "choose a file that can be read" : "make it readable, or remove it"};
}

bool names_nothing(const WatchOptions& options) {
    return options.cgroups.empty() && !options.pid && options.command.empty();
}

Error nothing_to_watch() {
    return plain_error("nothing to watch", "name a cgroup: memscope --cgroup NAME (more: memscope --help)");
}

// Decides what is watched: cgroups, a process, or a command. A process or a command on the command line overrides the
// cgroups of the config file. Two of the three on the command line are an error.
Status choose_subject(WatchOptions& options, const Given& given, std::vector<std::string> command) {
    if (given.has("--cgroup") + given.has("--pid") + !command.empty() > 1)
        return plain_error("--cgroup, --pid and -- COMMAND: only one of them can be used", kSeeHelp);
    const bool acts = !options.on_precursor.empty() || !options.on_death.empty();
    if (command.empty() && (given.has("--memory-max") || (given.has("--user") && !acts)))
        return plain_error(
            std::string(given.has("--memory-max") ? "--memory-max" : "--user") + ": needs a command to run",
            "add the command: memscope --memory-max 4G -- python train.py");
    if (command.empty() && given.has("--job-output"))
        return plain_error("--job-output: needs a command to run",
                           "add the command: memscope --json --job-output train.log -- python train.py");
    if (given.has("--pid") || !command.empty()) options.cgroups.clear();
    if (auto read = given.read("--pid", parse_pid, options.pid); !read) return read;
    if (auto read = given.read("--memory-max", parse_size, options.memory_max); !read) return read;
    options.user = given.text("--user");
    options.job_output = given.text("--job-output");
    options.command = std::move(command);
    if (names_nothing(options)) return nothing_to_watch();
    return Done{};
}

CommandSyntax watch_syntax() {
    CommandSyntax syntax{.options = {"--config", "--pid", "--memory-max", "--user", "--job-output"}};
    for (const WatchSetting& setting : watch_settings()) {
        using enum WatchSetting::Kind;
        auto& names = setting.kind == flag ? syntax.flags : setting.kind == list ? syntax.lists : syntax.options;
        names.push_back("--" + std::string(setting.name));
    }
    return syntax;
}

// `alone`: memscope was called without arguments.
Result<Command> watch_command(CommandLine line, const ReadFile& read_config, const char* record, bool alone) {
    WatchOptions options{.record = kRecordingDirectory};
    if (record)
        for (const WatchSetting& setting : watch_settings())
            if (setting.name == "record")
                if (auto set = setting.set(options, record); !set) return about(kRecordVariable, set.error());
    const Given& given = line.given;
    if (auto read = read_config_file(options, given.text("--config"), read_config); !read) return read.error();
    for (const WatchSetting& setting : watch_settings()) {
        const std::string name = "--" + std::string(setting.name);
        // A list on the command line replaces the list of the config file.
        if (setting.kind == WatchSetting::Kind::list && given.has(name)) setting.clear(options);
        for (const std::string& value : given.all(name))
            if (auto set = setting.set(options, value); !set) return about(name, set.error());
    }
    auto chosen = choose_subject(options, given, std::move(line.launched));
    if (!chosen && alone && names_nothing(options)) return Command(NothingToWatch{chosen.error()});
    if (!chosen) return chosen.error();
    if (options.http_status && !options.listen)
        return plain_error("--http-status: needs an address, but --listen is none", "remove one of them");
    if (options.torch && (!options.gpu || !options.maps))
        return plain_error(fmt::format("--torch: does not work with {}", options.gpu ? "--no-maps" : "--no-gpu"),
                           "remove one of them");
    return Command(std::move(options));
}

Result<Command> status_command(const Given& given) {
    return Command(StatusOptions{.target = given.text("--target"), .json = given.flag("--json")});
}

Result<Command> growth_command(const Given& given) {
    GrowthOptions options{
        .target = given.text("--target"), .since = given.text("--since"), .stacks = given.flag("--stacks")};
    GrowthRequest request;
    if (options.since)
        if (auto read = parse_since(*options.since, request); !read) return about("--since", read.error());
    if (const auto at = given.text("--at"))
        if (auto read = parse_at(*at, request); !read) return about("--at", read.error());
    options.at_peak = request.at_peak;
    if (auto read = given.read("--top", parse_count("call sites"), options.top); !read) return read.error();
    const auto format = parse_format({"text", "json", "folded", "pprof"});
    if (auto read = given.read("--format", format, options.format); !read) return read.error();
    return Command(std::move(options));
}

Result<Command> heap_command(const Given& given) {
    HeapOptions options{.target = given.text("--target"), .type = given.text("--type")};
    std::string format;
    if (auto read = given.read("--pid", parse_pid, options.pid); !read) return read.error();
    if (auto read = given.read("--again", parse_again, options.again); !read) return read.error();
    if (auto read = given.read("--top", parse_count("entries"), options.top); !read) return read.error();
    if (auto read = given.read("--format", parse_format({"text", "json"}), format); !read) return read.error();
    options.json = format == "json";
    return Command(std::move(options));
}

Result<Command> verdict_command(const Given& given) {
    if (!given.has("file"))
        return plain_error("verdict: the file is missing", "memscope verdict FILE.csv, or - for standard input");
    VerdictOptions options{.file = *given.text("file"), .json = given.flag("--json")};
    SeriesChoice& choice = options.choice;
    choice = {.time = given.text("--time"), .value = given.text("--value"), .gpu = given.text("--gpu")};
    if (auto read = given.read("--unit", parse_unit_name, choice.unit); !read) return read.error();
    if (auto read = given.read("--interval", parse_interval, choice.interval); !read) return read.error();
    if (auto read = given.read("--limit", parse_size, options.limit); !read) return read.error();
    if (auto read = given.read("--warmup", parse_warmup, options.warmup); !read) return read.error();
    if (auto read = given.read("--fail-on", verdicts_of, options.fail_on); !read) return read.error();
    return Command(std::move(options));
}

Result<Command> report_command(const Given& given) {
    ReportOptions options{.file = given.text("file"),
                          .target = given.text("--target"),
                          .json = given.flag("--json"),
                          .html = given.text("--html"),
                          .with_commands = given.flag("--with-commands")};
    if (options.file && given.has("--report-dir"))
        return plain_error("--report-dir: cannot be used together with a file", "remove one of them");
    options.directory = given.text("--report-dir").value_or(options.directory);
    options.recordings = given.text("--record").value_or(options.recordings);
    if (options.with_commands && !options.html) return plain_error("--with-commands: needs --html", kSeeHelp);
    if (options.html && options.json)
        return plain_error("--html and --json: only one of them can be used", "remove one of them");
    if (options.html && !options.file)
        return plain_error("--html: needs a recording", "memscope report RECORDING --html report.html");
    return Command(std::move(options));
}

Result<Command> web_command(const Given& given) {
    WebOptions options{
        .recording = given.text("recording"), .target = given.text("--target"), .browser = !given.flag("--no-browser")};
    if (auto read = given.read("--listen", parse_page_address, options.listen); !read) return read.error();
    options.directory = given.text("--record").value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> export_command(const Given& given) {
    if (!given.has("recording")) return plain_error("export: the recording is missing", "name a file or a target");
    ExportOptions options{.recording = *given.text("recording"),
                          .target = given.text("--target"),
                          .format = "csv",
                          .from = given.text("--from"),
                          .to = given.text("--to"),
                          .output = given.text("--output")};
    const auto format = parse_format({"csv", "json", "openmetrics", "perfetto", "recording"});
    if (auto read = given.read("--format", format, options.format); !read) return read.error();
    if (options.format == "recording" && (options.target || options.from || options.to))
        return plain_error("export: --format recording copies the whole recording",
                           "leave out --target, --from and --to");
    options.directory = given.text("--record").value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> replay_command(const Given& given) {
    if (!given.has("recording")) return plain_error("replay: the recording is missing", "name a file or a target");
    ReplayOptions options{
        .recording = *given.text("recording"), .target = given.text("--target"), .from = given.text("--from")};
    if (auto read = given.read("--speed", parse_speed, options.speed); !read) return read.error();
    options.directory = given.text("--record").value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> recordings_command(const Given& given) {
    RecordingsOptions options{.remove = given.text("--remove"), .json = given.flag("--json")};
    options.directory = given.text("--record").value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> compare_command(const Given& given) {
    if (!given.has("base") || !given.has("head"))
        return plain_error("compare: needs two recordings", "memscope compare BASE.memscope HEAD.memscope");
    CompareOptions options{.base = *given.text("base"), .head = *given.text("head"), .target = given.text("--target")};
    const auto format = parse_format({"text", "markdown", "junit", "json"});
    if (auto read = given.read("--format", format, options.format); !read) return read.error();
    if (auto read = given.read("--fail-on", parse_fail_rules, options.rules); !read) return read.error();
    options.directory = given.text("--record").value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> doctor_command(const Given& given) { return Command(DoctorOptions{.json = given.flag("--json")}); }

Result<Command> demo_command(const Given& given) {
    DemoOptions options{.seconds = given.text("--scenario-seconds")};
    options.scenario = given.text("scenario").value_or(options.scenario);
    if (!find_scenario(options.scenario))
        return plain_error(fmt::format("demo {}: there is no such demo", shortened(options.scenario)),
                           "the demos are: " + scenario_names());
    return Command(options);
}

// Every command except watching, which has no name. `lists` are not used by any of them.
struct CommandRow {
    const char* name;
    Result<Command> (*make)(const Given& given);
    std::vector<std::string> options;
    std::vector<std::string> flags{};
    std::vector<std::string> words{};
};

const std::vector<CommandRow>& command_rows() {
    static const std::vector<CommandRow> rows{
        {"status", status_command, {"--target"}, {"--json"}},
        {"growth", growth_command, {"--target", "--top", "--format", "--since", "--at"}, {"--stacks"}},
        {"heap", heap_command, {"--target", "--pid", "--again", "--top", "--type", "--format"}},
        {"verdict",
         verdict_command,
         {"--limit", "--warmup", "--fail-on", "--time", "--value", "--unit", "--gpu", "--interval"},
         {"--json"},
         {"file"}},
        {"report",
         report_command,
         {"--report-dir", "--target", "--record", "--html"},
         {"--json", "--with-commands"},
         {"file"}},
        {"export",
         export_command,
         {"--target", "--format", "--from", "--to", "--output", "--record"},
         {},
         {"recording"}},
        {"replay", replay_command, {"--target", "--from", "--speed", "--record"}, {}, {"recording"}},
        {"recordings", recordings_command, {"--remove", "--record"}, {"--json"}},
        {"compare", compare_command, {"--target", "--fail-on", "--format", "--record"}, {}, {"base", "head"}},
        {"web", web_command, {"--target", "--listen", "--record"}, {"--no-browser"}, {"recording"}},
        {"doctor", doctor_command, {}, {"--json"}},
        {"demo", demo_command, {"--scenario-seconds"}, {}, {"scenario"}}};
    return rows;
}

// --help and --version have priority over everything else on the command line.
std::optional<Command> asked_for_text(std::span<const std::string> args) {
    if (!args.empty() && args.front() == "help")
        return Help{args.size() > 1 && help_of(args[1]) ? help_of(args[1]) : kHelp};
    const char* const of_command = args.empty() ? nullptr : help_of(args.front());
    for (const std::string& word : args) {
        if (word == "--") break;
        if (word == "-h" || word == "--help") return Help{of_command ? of_command : kHelp};
        if (word == "--version") return Version{};
    }
    return std::nullopt;
}

}  // namespace

Result<Command> parse_command(std::span<const std::string> words, const ReadFile& read_config, const char* record) {
    if (auto text = asked_for_text(words)) return *std::move(text);
    std::vector<CommandSyntax> commands;
    for (const CommandRow& row : command_rows())
        commands.push_back({.name = row.name, .options = row.options, .flags = row.flags, .words = row.words});
    auto line = read_command_line(words, watch_syntax(), commands);
    if (!line) return line.error();
    for (const CommandRow& row : command_rows())
        if (line->command == row.name) return row.make(line->given);
    return watch_command(*std::move(line), read_config, record, words.empty());
}

}  // namespace memscope
