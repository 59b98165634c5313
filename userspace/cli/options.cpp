#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/series/sample_text.h"
#include "cli/shell_words.h"
#include "demo/scenario.h"
#include "model/growth/growth_request.h"
#include "outputs/http/host_check.h"
#include "recording/store.h"
#include "review/replay.h"

namespace memscope {
namespace {

using Kind = WatchSetting::Kind;

constexpr const char* kSeeHelp = "see memscope --help";

// CLI11 only finds the options. Their values are parsed by the same code as those of the config file.
CLI::Option* add_text(CLI::App& app, const std::string& name) {
    return app.add_option(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// All values of an option. At most one value, unless the option may be repeated.
Result<std::vector<std::string>> values_of(const CLI::Option& option, bool repeatable) {
    const auto& values = option.results();
    for (const std::string& value : values) {
        if (value.empty()) return plain_error(option.get_name() + ": is empty", kSeeHelp);
        if (value.starts_with("--"))  // CLI11 takes any next word as the value
            return plain_error(fmt::format("{}: needs a value, not '{}'", option.get_name(), shortened(value)),
                               kSeeHelp);
    }
    if (!repeatable && values.size() > 1)
        return plain_error(fmt::format("{}: given {} times", option.get_name(), values.size()), "use it once");
    return values;
}

Result<std::optional<std::string>> value_of(const CLI::Option& option) {
    auto values = values_of(option, false);
    if (!values) return values.error();
    return values->empty() ? std::nullopt : std::optional(values->front());
}

Result<bool> flag_of(const CLI::Option& flag) {
    if (flag.count() == 0) return false;
    const std::string& value = flag.results().back();  // a later --json=false overrides an earlier --json
    if (value == "true" || value == "false") return value == "true";
    return plain_error(fmt::format("{}: '{}' is neither true nor false", flag.get_name(), shortened(value)), kSeeHelp);
}

std::string see_help(const CLI::App& command) {
    return command.get_name().empty() ? kSeeHelp : fmt::format("see memscope {} --help", command.get_name());
}

std::vector<std::string> command_names() {
    std::vector<std::string> names{"help"};
    for (const CommandHelp& each : command_helps()) names.emplace_back(each.name);
    return names;
}

// The error for a word that no option or command accepted.
Error unexpected(const CLI::App& command, const std::string& word, bool cgroup_given) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with('-')) {
        std::vector<std::string> known{"--help", "--version"};
        for (const CLI::Option* option : command.get_options())
            for (const std::string& each : option->get_lnames()) known.push_back("--" + each);
        const std::string of = command.get_name().empty() ? "" : " of memscope " + command.get_name();
        const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
        return plain_error(fmt::format("{}: unknown option{}", shortened(name), of),
                           did_you_mean("--" + bare, known, see_help(command)));
    }
    if (!command.get_name().empty())
        return plain_error(fmt::format("{}: unexpected argument of memscope {}", shortened(word), command.get_name()),
                           see_help(command));
    if (cgroup_given)
        return plain_error(shortened(word) + ": unexpected argument",
                           "repeat --cgroup for each name, and put globs in quotes");
    return plain_error(shortened(word) + ": unknown command", did_you_mean(word, command_names(), kSeeHelp));
}

// For `memscope python3 train.py`: the first word that is neither an option nor the value of an option is a command to
// run, unless it is a command of memscope or similar to one. nullopt: it is something else.
std::optional<Error> forgotten_dashes(const CLI::App& app, std::span<const std::string> args) {
    std::size_t first = 0;
    for (; first < args.size() && args[first].starts_with("--"); ++first) {
        const CLI::Option* option = app.get_option_no_throw(args[first].substr(0, args[first].find('=')));
        if (!option || option->check_name("--cgroup")) return std::nullopt;
        const bool takes_next = option->get_items_expected_min() > 0 && args[first].find('=') == std::string::npos;
        if (takes_next) ++first;
    }
    if (first >= args.size() || args[first].starts_with('-')) return std::nullopt;
    const std::string& word = args[first];
    const auto known = command_names();
    if (std::ranges::find(known, word) != known.end() || !did_you_mean(word, known, "").empty()) return std::nullopt;
    const std::string options = shell_words(args.first(first));
    return plain_error(shortened(word) + ": unknown command",
                       fmt::format("to run it and watch it: memscope {}{}-- {} (all commands: memscope --help)",
                                   options, options.empty() ? "" : " ", shell_words(args.subspan(first))));
}

Status read_config_file(WatchOptions& options, const std::optional<std::string>& given, const ReadFile& read_config) {
    const std::string path = given.value_or(kDefaultConfig);
    const auto text = read_config(path);
    if (text) return apply_config(options, *text, path);
    if (!given && text.error().code == std::errc::no_such_file_or_directory) return Done{};
    return Error{text.error().code, "config file: " + text.error().where,
                 given ? "choose a file that can be read" : "make it readable, or remove it"};
}

Result<pid_t> pid_of(const std::string& text) {
    const auto number = parse_number(text);
    if (!number || *number == 0 || *number > 1U << 22U)  // the largest pid_max there is
        return plain_error(fmt::format("--pid: '{}' is not a pid", shortened(text)), "`ps` lists the pids");
    return static_cast<pid_t>(*number);
}

bool names_nothing(const WatchOptions& options) {
    return options.cgroups.empty() && !options.pid && options.command.empty();
}

Error nothing_to_watch() {
    return plain_error("nothing to watch", "name a cgroup: memscope --cgroup NAME (more: memscope --help)");
}

// Decides what is watched: cgroups, a process, or a command. A process or a command on the command line overrides the
// cgroups of the config file. Two of the three on the command line are an error.
Status choose_subject(WatchOptions& options, const CLI::App& app, std::vector<std::string> command) {
    const auto pid = value_of(*app.get_option("--pid"));
    const auto memory_max = value_of(*app.get_option("--memory-max"));
    const auto user = value_of(*app.get_option("--user"));
    const auto job_output = value_of(*app.get_option("--job-output"));
    for (const auto* value : {&pid, &memory_max, &user, &job_output})
        if (!*value) return value->error();
    if ((app.count("--cgroup") > 0) + pid->has_value() + !command.empty() > 1)
        return plain_error("--cgroup, --pid and -- COMMAND: only one of them can be used", kSeeHelp);
    const bool acts = !options.on_precursor.empty() || !options.on_death.empty();
    if (command.empty() && (*memory_max || (*user && !acts)))
        return plain_error(std::string(*memory_max ? "--memory-max" : "--user") + ": needs a command to run",
                           "add the command: memscope --memory-max 4G -- python train.py");
    if (command.empty() && *job_output)
        return plain_error("--job-output: needs a command to run",
                           "add the command: memscope --json --job-output train.log -- python train.py");
    if (*pid || !command.empty()) options.cgroups.clear();
    if (*pid) {
        const auto number = pid_of(**pid);
        if (!number) return number.error();
        options.pid = *number;
    }
    if (*memory_max) {
        const auto size = parse_size(**memory_max);
        if (!size) return about("--memory-max", size.error());
        options.memory_max = *size;
    }
    options.user = *user;
    options.job_output = *job_output;
    options.command = std::move(command);
    if (names_nothing(options)) return nothing_to_watch();
    return Done{};
}

// `alone`: memscope was called without any word.
Result<Command> watch_command(const CLI::App& app, const ReadFile& read_config, std::vector<std::string> command,
                              const char* record, bool alone) {
    WatchOptions options{.record = kRecordingDirectory};
    if (record)
        for (const WatchSetting& setting : watch_settings())
            if (setting.name == "record")
                if (auto set = setting.set(options, record); !set) return about(kRecordVariable, set.error());
    const auto config = value_of(*app.get_option("--config"));
    if (!config) return config.error();
    if (auto read = read_config_file(options, *config, read_config); !read) return read.error();
    for (const WatchSetting& setting : watch_settings()) {
        const std::string name = "--" + std::string(setting.name);
        const auto values = values_of(*app.get_option(name), setting.kind != Kind::text);
        if (!values) return values.error();
        // A list on the command line replaces the list of the config file.
        if (setting.kind == Kind::list && !values->empty()) setting.clear(options);
        for (const std::string& value : *values)
            if (auto set = setting.set(options, value); !set) return about(name, set.error());
    }
    auto chosen = choose_subject(options, app, std::move(command));
    if (!chosen && alone && names_nothing(options)) return Command(NothingToWatch{chosen.error()});
    if (!chosen) return chosen.error();
    if (options.http_status && !options.listen)
        return plain_error("--http-status: needs an address, but --listen is none", "remove one of them");
    if (options.torch && (!options.gpu || !options.maps))
        return plain_error(fmt::format("--torch: does not work with {}", options.gpu ? "--no-maps" : "--no-gpu"),
                           "remove one of them");
    return Command(std::move(options));
}

Result<Command> status_command(const CLI::App& command) {
    const auto json = flag_of(*command.get_option("--json"));
    if (!json) return json.error();
    const auto target = value_of(*command.get_option("--target"));
    if (!target) return target.error();
    return Command(StatusOptions{.target = *target, .json = *json});
}

Result<Command> growth_command(const CLI::App& command) {
    const auto target = value_of(*command.get_option("--target"));
    const auto top = value_of(*command.get_option("--top"));
    const auto format = value_of(*command.get_option("--format"));
    const auto since = value_of(*command.get_option("--since"));
    const auto at = value_of(*command.get_option("--at"));
    const auto stacks = flag_of(*command.get_option("--stacks"));
    for (const auto* value : {&target, &top, &format, &since, &at})
        if (!*value) return value->error();
    if (!stacks) return stacks.error();
    GrowthOptions options{.target = *target, .since = *since, .stacks = *stacks};
    GrowthRequest request;
    if (*since)
        if (auto read = parse_since(**since, request); !read) return about("--since", read.error());
    if (*at)
        if (auto read = parse_at(**at, request); !read) return about("--at", read.error());
    options.at_peak = request.at_peak;
    if (*top) {
        const auto number = parse_number(**top);
        if (!number || *number == 0)
            return plain_error(fmt::format("--top: '{}' is not a number of call sites", shortened(**top)), kSeeHelp);
        options.top = number;
    }
    options.format = format->value_or(options.format);
    const std::vector<std::string> formats{"text", "json", "folded", "pprof"};
    if (std::ranges::find(formats, options.format) == formats.end())
        return plain_error(
            fmt::format("--format: '{}' is unknown", shortened(options.format)),
            did_you_mean(options.format, formats, fmt::format("the formats are: {}", fmt::join(formats, ", "))));
    return Command(std::move(options));
}

Result<Command> heap_command(const CLI::App& command) {
    constexpr Seconds kLongest{3600};
    const auto target = value_of(*command.get_option("--target"));
    const auto pid = value_of(*command.get_option("--pid"));
    const auto again = value_of(*command.get_option("--again"));
    const auto top = value_of(*command.get_option("--top"));
    const auto type = value_of(*command.get_option("--type"));
    const auto format = value_of(*command.get_option("--format"));
    for (const auto* value : {&target, &pid, &again, &top, &type, &format})
        if (!*value) return value->error();
    HeapOptions options{.target = *target, .type = *type};
    if (*pid) {
        const auto number = pid_of(**pid);
        if (!number) return number.error();
        options.pid = *number;
    }
    if (*again) {
        const auto time = parse_duration(**again);
        if (!time) return about("--again", time.error());
        if (time->count() <= 0 || *time > kLongest)
            return plain_error("--again: must be more than 0 s and at most 1 h", kSeeHelp);
        options.again = *time;
    }
    if (*top) {
        const auto entries = parse_number(**top);
        if (!entries || *entries == 0)
            return plain_error(fmt::format("--top: '{}' is not a number of entries", shortened(**top)), kSeeHelp);
        options.top = *entries;
    }
    const std::vector<std::string> formats{"text", "json"};
    const std::string chosen = format->value_or(formats.front());
    if (std::ranges::find(formats, chosen) == formats.end())
        return plain_error(fmt::format("--format: '{}' is unknown", shortened(chosen)),
                           did_you_mean(chosen, formats, fmt::format("the formats are: {}", fmt::join(formats, ", "))));
    options.json = chosen == "json";
    return Command(options);
}

Result<SeriesChoice> series_choice(const CLI::App& command) {
    const auto time = value_of(*command.get_option("--time"));
    const auto value = value_of(*command.get_option("--value"));
    const auto unit = value_of(*command.get_option("--unit"));
    const auto gpu = value_of(*command.get_option("--gpu"));
    const auto interval = value_of(*command.get_option("--interval"));
    for (const auto* each : {&time, &value, &unit, &gpu, &interval})
        if (!*each) return each->error();
    SeriesChoice choice{.time = *time, .value = *value, .unit = *unit, .gpu = *gpu};
    if (*unit && !parse_unit(**unit))
        return plain_error(fmt::format("--unit: '{}' is not a unit", shortened(**unit)),
                           "one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
    if (*interval) {
        const auto duration = parse_duration(**interval);
        if (!duration) return about("--interval", duration.error());
        if (duration->count() <= 0) return plain_error("--interval: must be more than 0 s", kSeeHelp);
        choice.interval = *duration;
    }
    return choice;
}

Result<Command> verdict_command(const CLI::App& command, const CLI::Option& file) {
    const auto path = value_of(file);
    const auto limit = value_of(*command.get_option("--limit"));
    const auto warmup = value_of(*command.get_option("--warmup"));
    const auto fail_on = value_of(*command.get_option("--fail-on"));
    for (const auto* value : {&path, &limit, &warmup, &fail_on})
        if (!*value) return value->error();
    const auto json = flag_of(*command.get_option("--json"));
    if (!json) return json.error();
    if (!*path)
        return plain_error("verdict: the file is missing", "memscope verdict FILE.csv, or - for standard input");
    const auto choice = series_choice(command);
    if (!choice) return choice.error();
    VerdictOptions options{.file = **path, .choice = *choice, .json = *json};
    if (*limit) {
        const auto size = parse_size(**limit);
        if (!size) return about("--limit", size.error());
        options.limit = *size;
    }
    if (*warmup) {
        const auto time = parse_warmup(**warmup);
        if (!time) return about("--warmup", time.error());
        options.warmup = *time;
    }
    if (*fail_on) {
        auto verdicts = verdicts_of(**fail_on);
        if (!verdicts) return about("--fail-on", verdicts.error());
        options.fail_on = *std::move(verdicts);
    }
    return Command(std::move(options));
}

Result<Command> report_command(const CLI::App& command, const CLI::Option& file) {
    const auto path = value_of(file);
    const auto directory = value_of(*command.get_option("--report-dir"));
    const auto target = value_of(*command.get_option("--target"));
    const auto recordings = value_of(*command.get_option("--record"));
    for (const auto* value : {&path, &directory, &target, &recordings})
        if (!*value) return value->error();
    const auto json = flag_of(*command.get_option("--json"));
    if (!json) return json.error();
    const auto html = value_of(*command.get_option("--html"));
    if (!html) return html.error();
    const auto with_commands = flag_of(*command.get_option("--with-commands"));
    if (!with_commands) return with_commands.error();
    ReportOptions options{.file = *path, .json = *json};
    if (*path && *directory)
        return plain_error("--report-dir: cannot be used together with a file", "remove one of them");
    options.directory = directory->value_or(options.directory);
    options.target = *target;
    options.recordings = recordings->value_or(options.recordings);
    options.html = *html;
    options.with_commands = *with_commands;
    if (*with_commands && !*html) return plain_error("--with-commands: needs --html", kSeeHelp);
    if (*html && *json) return plain_error("--html and --json: only one of them can be used", "remove one of them");
    if (*html && !*path)
        return plain_error("--html: needs a recording", "memscope report RECORDING --html report.html");
    return Command(std::move(options));
}

Result<Command> web_command(const CLI::App& command, const CLI::Option& recording) {
    const auto path = value_of(recording);
    const auto target = value_of(*command.get_option("--target"));
    const auto listen = value_of(*command.get_option("--listen"));
    const auto directory = value_of(*command.get_option("--record"));
    for (const auto* value : {&path, &target, &listen, &directory})
        if (!*value) return value->error();
    const auto no_browser = flag_of(*command.get_option("--no-browser"));
    if (!no_browser) return no_browser.error();
    WebOptions options{.recording = *path, .target = *target, .browser = !*no_browser};
    if (*listen) {
        auto address = parse_listen(**listen);
        if (!address) return about("--listen", address.error());
        // The page shows names of processes and code. HTTP without TLS must not carry them over a network.
        if (!is_loopback(*address))
            return plain_error("--listen: memscope web serves loopback addresses only",
                               "from another machine use ssh -L, see docs/web.md");
        options.listen = *std::move(address);
    }
    options.directory = directory->value_or(options.directory);
    return Command(std::move(options));
}

// One of the formats, or the first if none is given.
Result<std::string> format_of(const std::optional<std::string>& given, const std::vector<std::string>& formats) {
    const std::string chosen = given.value_or(formats.front());
    if (std::ranges::find(formats, chosen) != formats.end()) return chosen;
    return plain_error(fmt::format("--format: '{}' is unknown", shortened(chosen)),
                       did_you_mean(chosen, formats, fmt::format("the formats are: {}", fmt::join(formats, ", "))));
}

Result<Command> export_command(const CLI::App& command, const CLI::Option& recording) {
    const auto path = value_of(recording);
    const auto target = value_of(*command.get_option("--target"));
    const auto format = value_of(*command.get_option("--format"));
    const auto from = value_of(*command.get_option("--from"));
    const auto to = value_of(*command.get_option("--to"));
    const auto output = value_of(*command.get_option("--output"));
    const auto directory = value_of(*command.get_option("--record"));
    for (const auto* value : {&path, &target, &format, &from, &to, &output, &directory})
        if (!*value) return value->error();
    if (!*path) return plain_error("export: the recording is missing", "name a file or a target");
    const auto chosen = format_of(*format, {"csv", "json", "openmetrics", "perfetto", "recording"});
    if (!chosen) return chosen.error();
    if (*chosen == "recording" && (*target || *from || *to))
        return plain_error("export: --format recording copies the whole recording",
                           "leave out --target, --from and --to");
    ExportOptions options{
        .recording = **path, .target = *target, .format = *chosen, .from = *from, .to = *to, .output = *output};
    options.directory = directory->value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> replay_command(const CLI::App& command, const CLI::Option& recording) {
    const auto path = value_of(recording);
    const auto target = value_of(*command.get_option("--target"));
    const auto from = value_of(*command.get_option("--from"));
    const auto speed = value_of(*command.get_option("--speed"));
    const auto directory = value_of(*command.get_option("--record"));
    for (const auto* value : {&path, &target, &from, &speed, &directory})
        if (!*value) return value->error();
    if (!*path) return plain_error("replay: the recording is missing", "name a file or a target");
    ReplayOptions options{.recording = **path, .target = *target, .from = *from};
    if (*speed) {
        const auto number = parse_number(**speed);
        if (!number || *number == 0 || static_cast<double>(*number) > Replay::kFastest)
            return plain_error(
                fmt::format("--speed: '{}' is not a number from 1 to {}", shortened(**speed), Replay::kFastest),
                "1 is the speed of the job, 60 shows a minute in a second");
        options.speed = static_cast<double>(*number);
    }
    options.directory = directory->value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> recordings_command(const CLI::App& command) {
    const auto remove = value_of(*command.get_option("--remove"));
    const auto directory = value_of(*command.get_option("--record"));
    for (const auto* value : {&remove, &directory})
        if (!*value) return value->error();
    const auto json = flag_of(*command.get_option("--json"));
    if (!json) return json.error();
    RecordingsOptions options{.remove = *remove, .json = *json};
    options.directory = directory->value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> compare_command(const CLI::App& command, const CLI::Option& base, const CLI::Option& head) {
    const auto before = value_of(base), after = value_of(head);
    const auto target = value_of(*command.get_option("--target"));
    const auto fail_on = value_of(*command.get_option("--fail-on"));
    const auto format = value_of(*command.get_option("--format"));
    const auto directory = value_of(*command.get_option("--record"));
    for (const auto* value : {&before, &after, &target, &fail_on, &format, &directory})
        if (!*value) return value->error();
    if (!*before || !*after)
        return plain_error("compare: needs two recordings", "memscope compare BASE.memscope HEAD.memscope");
    const auto chosen = format_of(*format, {"text", "markdown", "junit", "json"});
    if (!chosen) return chosen.error();
    CompareOptions options{.base = **before, .head = **after, .target = *target, .format = *chosen};
    if (*fail_on) {
        auto rules = parse_fail_rules(**fail_on);
        if (!rules) return about("--fail-on", rules.error());
        options.rules = *std::move(rules);
    }
    options.directory = directory->value_or(options.directory);
    return Command(std::move(options));
}

Result<Command> doctor_command(const CLI::App& command) {
    const auto json = flag_of(*command.get_option("--json"));
    if (!json) return json.error();
    return Command(DoctorOptions{.json = *json});
}

Result<Command> demo_command(const CLI::App& command, const CLI::Option& scenario) {
    const auto given = value_of(scenario), seconds = value_of(*command.get_option("--scenario-seconds"));
    for (const auto* each : {&given, &seconds})
        if (!*each) return each->error();
    DemoOptions options{.seconds = *seconds};
    options.scenario = given->value_or(options.scenario);
    if (!find_scenario(options.scenario))
        return plain_error(fmt::format("demo {}: there is no such demo", shortened(options.scenario)),
                           "the demos are: " + scenario_names());
    return Command(options);
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

Error about(const std::string& subject, const Error& error) {
    return {error.code, subject + ": " + error.where, error.advice};
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string otherwise) {
    constexpr std::size_t kLongest = 40;
    if (word.size() > kLongest) return otherwise;
    const auto distance = [&](std::string_view other) {  // Damerau-Levenshtein distance
        std::vector<std::vector<std::size_t>> d(word.size() + 1, std::vector<std::size_t>(other.size() + 1));
        for (std::size_t i = 0; i <= word.size(); ++i)
            for (std::size_t j = 0; j <= other.size(); ++j) {
                if (i == 0 || j == 0) {
                    d[i][j] = i + j;
                    continue;
                }
                const std::size_t change = word[i - 1] == other[j - 1] ? 0 : 1;
                d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
                if (i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1])
                    d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        return d.back().back();
    };
    const auto nearest = std::ranges::min_element(known, {}, distance);
    if (nearest == known.end()) return otherwise;
    const std::size_t allowed = std::max<std::size_t>(1, std::min(word.size(), nearest->size()) / 3);
    return distance(*nearest) <= allowed ? fmt::format("did you mean {}?", *nearest) : otherwise;
}

Result<Command> parse_command(std::span<const std::string> all, const ReadFile& read_config, const char* record) {
    if (auto text = asked_for_text(all)) return *std::move(text);
    const auto dashes = std::ranges::find(all, "--");  // the words after it are the command to run
    const auto args = all.first(static_cast<std::size_t>(dashes - all.begin()));
    std::vector<std::string> launched(dashes == all.end() ? dashes : dashes + 1, all.end());
    if (dashes != all.end() && launched.empty()) return plain_error("--: no command follows it", kSeeHelp);
    for (const std::string& word : args)  // CLI11 would take the next word as the value
        if (word.starts_with("--") && word.find('=') == word.size() - 1)
            return plain_error(shortened(word) + ": is empty", kSeeHelp);

    CLI::App app;
    app.set_help_flag();
    app.allow_extras();  // unexpected() reports them
    app.require_subcommand(0, 1);
    for (const char* name : {"--config", "--pid", "--memory-max", "--user", "--job-output"}) add_text(app, name);
    for (const WatchSetting& setting : watch_settings()) {
        const std::string name = "--" + std::string(setting.name);
        setting.kind == Kind::flag ? app.add_flag(name) : add_text(app, name);
    }
    const auto add_command = [&](const char* name) {
        CLI::App* command = app.add_subcommand(name);
        command->set_help_flag();
        command->allow_extras();
        return command;
    };
    CLI::App* status = add_command("status");
    add_text(*status, "--target");
    status->add_flag("--json");
    CLI::App* growth = add_command("growth");
    for (const char* name : {"--target", "--top", "--format", "--since", "--at"}) add_text(*growth, name);
    growth->add_flag("--stacks");
    CLI::App* heap = add_command("heap");
    for (const char* name : {"--target", "--pid", "--again", "--top", "--type", "--format"}) add_text(*heap, name);
    CLI::App* verdict = add_command("verdict");
    for (const char* name : {"--limit", "--warmup", "--fail-on", "--time", "--value", "--unit", "--gpu", "--interval"})
        add_text(*verdict, name);
    verdict->add_flag("--json");
    CLI::Option* file = verdict->add_option("file");
    CLI::App* report = add_command("report");
    for (const char* name : {"--report-dir", "--target", "--record", "--html"}) add_text(*report, name);
    report->add_flag("--json");
    report->add_flag("--with-commands");
    CLI::Option* report_file = report->add_option("file");
    CLI::App* exported = add_command("export");
    for (const char* name : {"--target", "--format", "--from", "--to", "--output", "--record"})
        add_text(*exported, name);
    CLI::Option* exported_file = exported->add_option("recording");
    CLI::App* replay = add_command("replay");
    for (const char* name : {"--target", "--from", "--speed", "--record"}) add_text(*replay, name);
    CLI::Option* replayed_file = replay->add_option("recording");
    CLI::App* recordings = add_command("recordings");
    for (const char* name : {"--remove", "--record"}) add_text(*recordings, name);
    recordings->add_flag("--json");
    CLI::App* comparison = add_command("compare");
    for (const char* name : {"--target", "--fail-on", "--format", "--record"}) add_text(*comparison, name);
    CLI::Option* base = comparison->add_option("base");
    CLI::Option* head = comparison->add_option("head");
    CLI::App* web = add_command("web");
    for (const char* name : {"--target", "--listen", "--record"}) add_text(*web, name);
    web->add_flag("--no-browser");
    CLI::Option* shown_file = web->add_option("recording");
    CLI::App* doctor = add_command("doctor");
    doctor->add_flag("--json");
    CLI::App* demo = add_command("demo");
    add_text(*demo, "--scenario-seconds");
    CLI::Option* scenario = demo->add_option("scenario");
    if (dashes == all.end())
        if (auto forgotten = forgotten_dashes(app, args)) return *std::move(forgotten);
    try {
        app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes the words in reverse order
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string what = error.what();
        return plain_error(what.substr(0, what.find(':')) + ": needs a value", kSeeHelp);
    } catch (const CLI::ParseError& error) {
        return plain_error(error.what(), kSeeHelp);
    }
    const auto commands = app.get_subcommands();
    for (const CLI::App* each :
         {status, growth, heap, verdict, report, exported, replay, recordings, comparison, web, doctor, demo})
        if (each->parsed() && !each->remaining().empty()) return unexpected(*each, each->remaining().front(), false);
    if (const auto left = app.remaining(); !left.empty())
        return unexpected(app, left.front(), app.count("--cgroup") > 0);
    if (commands.empty()) return watch_command(app, read_config, std::move(launched), record, all.empty());
    if (!launched.empty())
        return plain_error(fmt::format("--: memscope {} takes no command", commands.front()->get_name()), kSeeHelp);
    for (const CLI::Option* option : app.get_options())
        if (option->count() > 0)
            return plain_error(
                fmt::format("{}: is before the command {}", option->get_name(), commands.front()->get_name()),
                "options of a command come after it, see memscope --help");
    if (heap->parsed()) return heap_command(*heap);
    if (demo->parsed()) return demo_command(*demo, *scenario);
    if (verdict->parsed()) return verdict_command(*verdict, *file);
    if (report->parsed()) return report_command(*report, *report_file);
    if (exported->parsed()) return export_command(*exported, *exported_file);
    if (replay->parsed()) return replay_command(*replay, *replayed_file);
    if (recordings->parsed()) return recordings_command(*recordings);
    if (comparison->parsed()) return compare_command(*comparison, *base, *head);
    if (web->parsed()) return web_command(*web, *shown_file);
    if (doctor->parsed()) return doctor_command(*doctor);
    return growth->parsed() ? growth_command(*growth) : status_command(*status);
}

}  // namespace memscope
