#include "cli/arguments/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/arguments/help.h"
#include "cli/arguments/shell_words.h"

namespace memscope {
namespace {

using Words = std::span<const std::string>;

bool contains(const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
}

// CLI11 only finds the options. Their values are parsed by the same code as those of the config file.
void add_to(CLI::App& app, const CommandSyntax& syntax) {
    app.set_help_flag();
    app.allow_extras();  // unexpected() reports them
    for (const auto* names : {&syntax.options, &syntax.lists})
        for (const std::string& name : *names)
            app.add_option(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    for (const std::string& name : syntax.flags) app.add_flag(name);
    for (const std::string& name : syntax.words) app.add_option(name);
}

std::string see_help(const CommandSyntax& command) {
    return command.name.empty() ? kSeeHelp : fmt::format("see memscope {} --help", command.name);
}

std::vector<std::string> command_names() {
    std::vector<std::string> names{"help"};
    for (const CommandHelp& each : command_helps()) names.emplace_back(each.name);
    return names;
}

// The error for a word that no option or command accepted.
Error unexpected(const CommandSyntax& command, const std::string& word, bool cgroup_given) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with('-')) {
        std::vector<std::string> known{"--help", "--version"};
        for (const auto* names : {&command.options, &command.lists, &command.flags})
            known.insert(known.end(), names->begin(), names->end());
        const std::string of = command.name.empty() ? "" : " of memscope " + command.name;
        const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
        return plain_error(fmt::format("{}: unknown option{}", shortened(name), of),
                           did_you_mean("--" + bare, known, see_help(command)));
    }
    if (!command.name.empty())
        return plain_error(fmt::format("{}: unexpected argument of memscope {}", shortened(word), command.name),
                           see_help(command));
    if (cgroup_given)
        return plain_error(shortened(word) + ": unexpected argument",
                           "repeat --cgroup for each name, and put globs in quotes");
    return plain_error(shortened(word) + ": unknown command", did_you_mean(word, command_names(), kSeeHelp));
}

// For `memscope python3 train.py`: the first word that is neither an option nor the value of an option is a command to
// run, unless it is a command of memscope or similar to one. nullopt: it is something else.
std::optional<Error> forgotten_dashes(const CommandSyntax& watching, Words args) {
    std::size_t first = 0;
    for (; first < args.size() && args[first].starts_with("--"); ++first) {
        const std::string name = args[first].substr(0, args[first].find('='));
        if (contains(watching.flags, name)) continue;
        if (name == "--cgroup" || !(contains(watching.options, name) || contains(watching.lists, name)))
            return std::nullopt;
        if (name.size() == args[first].size()) ++first;  // the next word is its value
    }
    if (first >= args.size() || args[first].starts_with('-')) return std::nullopt;
    const std::string& word = args[first];
    const auto known = command_names();
    if (contains(known, word) || !did_you_mean(word, known, "").empty()) return std::nullopt;
    const std::string options = shell_words(args.first(first));
    return plain_error(shortened(word) + ": unknown command",
                       fmt::format("to run it and watch it: memscope {}{}-- {} (all commands: memscope --help)",
                                   options, options.empty() ? "" : " ", shell_words(args.subspan(first))));
}

Status check_value(const std::string& name, const std::string& value) {
    if (value.empty()) return plain_error(name + ": is empty", kSeeHelp);
    if (value.starts_with("--"))  // CLI11 takes any next word as the value
        return plain_error(fmt::format("{}: needs a value, not '{}'", name, shortened(value)), kSeeHelp);
    return Done{};
}

Status check_flag(const std::string& name, const std::string& value) {
    if (value == "true" || value == "false") return Done{};
    return plain_error(fmt::format("{}: '{}' is neither true nor false", name, shortened(value)), kSeeHelp);
}

Result<Given> given_to(const CLI::App& app, const CommandSyntax& syntax) {
    std::map<std::string, std::vector<std::string>> all;
    for (const auto* names : {&syntax.options, &syntax.lists, &syntax.flags, &syntax.words})
        for (const std::string& name : *names) {
            const std::vector<std::string>& values = all[name] = app.get_option(name)->results();
            const bool is_flag = names == &syntax.flags;
            for (const std::string& value : values)
                if (auto checked = is_flag ? check_flag(name, value) : check_value(name, value); !checked)
                    return checked.error();
            if (values.size() > 1 && !is_flag && names != &syntax.lists)
                return plain_error(fmt::format("{}: given {} times", name, values.size()), "use it once");
        }
    return Given(std::move(all));
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

Result<CommandLine> read_command_line(Words words, const CommandSyntax& watching,
                                      std::span<const CommandSyntax> commands) {
    const auto dashes = std::ranges::find(words, "--");  // the words after `--` are the command to run
    const Words args = words.first(static_cast<std::size_t>(dashes - words.begin()));
    std::vector<std::string> launched(dashes == words.end() ? dashes : dashes + 1, words.end());
    if (dashes != words.end() && launched.empty()) return plain_error("--: no command follows it", kSeeHelp);
    for (const std::string& word : args)  // CLI11 would take the next word as the value
        if (word.starts_with("--") && word.find('=') == word.size() - 1)
            return plain_error(shortened(word) + ": is empty", kSeeHelp);
    if (dashes == words.end())
        if (auto forgotten = forgotten_dashes(watching, args)) return *std::move(forgotten);

    CLI::App app;
    add_to(app, watching);
    app.require_subcommand(0, 1);
    for (const CommandSyntax& command : commands) add_to(*app.add_subcommand(command.name), command);
    try {
        app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes the words in reverse order
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string what = error.what();
        return plain_error(what.substr(0, what.find(':')) + ": needs a value", kSeeHelp);
    } catch (const CLI::ParseError& error) {
        return plain_error(error.what(), kSeeHelp);
    }
    const auto chosen = std::ranges::find_if(
        commands, [&app](const CommandSyntax& each) { return app.get_subcommand(each.name)->parsed(); });
    const CLI::App& of_command = chosen == commands.end() ? app : *app.get_subcommand(chosen->name);
    const CommandSyntax& syntax = chosen == commands.end() ? watching : *chosen;
    if (const auto left = of_command.remaining(); !left.empty())
        return unexpected(syntax, left.front(), app.count("--cgroup") > 0);
    if (const auto left = app.remaining(); !left.empty())
        return unexpected(watching, left.front(), app.count("--cgroup") > 0);
    if (chosen != commands.end()) {
        if (!launched.empty())
            return plain_error(fmt::format("--: memscope {} takes no command", syntax.name), kSeeHelp);
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0)
                return plain_error(fmt::format("{}: is before the command {}", option->get_name(), syntax.name),
                                   "options of a command come after it, see memscope --help");
    }
    auto given = given_to(of_command, syntax);
    if (!given) return given.error();
    return CommandLine{.command = syntax.name, .given = *std::move(given), .launched = std::move(launched)};
}

}  // namespace memscope
