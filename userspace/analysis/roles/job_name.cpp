#include "analysis/roles/job_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

#include "analysis/roles/role_rules.h"

namespace memscope {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

namespace {

constexpr std::ptrdiff_t kMostArguments = 256;  // a job has its script among the first ones
constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostCodeBytes = 4096;
constexpr int kMostPrefixes = 8;  // nested commands, as in `nice numactl python`

bool is_launcher(const std::vector<std::string>& argv) {
    const std::string_view comm = base_name(argv.front());
    return decide_role({.comm = comm, .argv = argv}, builtin_role_rules()) == Role::launcher;
}

bool is_option(std::string_view argument) { return argument.empty() || argument.front() == '-'; }

// "10" of `nice -n 10`, "0-3" of `taskset -c 0-3`, "5m" of `timeout 5m`, "A=1" of `env A=1`.
bool is_value(std::string_view argument) {
    return std::isdigit(static_cast<unsigned char>(argument.front())) != 0 || argument.find('=') != argument.npos;
}

// True if the value of this option is the name of a user or a group: `sudo -u alice`.
bool is_identity(std::string_view option) {
    constexpr std::array kOptions{"-u", "-g", "--user", "--group"};
    return std::ranges::find(kOptions, option) != kOptions.end();
}

std::vector<std::string> from(std::span<const std::string> arguments, std::size_t at) {
    return {arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end()};
}

bool is_shell(std::string_view program) {
    constexpr std::array<std::string_view, 5> kShells{"bash", "sh", "dash", "zsh", "ksh"};
    if (program.starts_with('-')) program.remove_prefix(1);  // a login shell
    return std::ranges::find(kShells, program) != kShells.end();
}

// The code of `bash -c CODE`: the word after the first option that has a `c` among its letters.
const std::string* shell_code(const std::vector<std::string>& argv) {
    for (std::size_t i = 1; i + 1 < argv.size(); ++i) {
        if (!argv[i].starts_with('-')) return nullptr;  // a script
        if (!argv[i].starts_with("--") && argv[i].find('c') != std::string::npos) return &argv[i + 1];
    }
    return nullptr;
}

std::optional<std::string> name_of(const std::vector<std::string>& argv, int depth);

// The name of the program that a launcher starts. A Python script anywhere in the arguments is preferred, because
// options of launchers can have any values.
std::optional<std::string> name_of_launched(std::span<const std::string> arguments, int depth) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (is_shell(base_name(arguments[i])) && shell_code(from(arguments, i))) break;  // its code may end in .py
        if (!is_option(arguments[i]) && arguments[i].ends_with(".py")) return std::string(base_name(arguments[i]));
    }
    if (depth == kMostPrefixes) return std::nullopt;
    std::optional<std::string> first;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (is_option(argument) || is_value(argument) || (i > 0 && is_identity(arguments[i - 1]))) continue;
        const auto rest = from(arguments, i);
        const bool runs_another = program_names(base_name(argument), rest).size() > 1 || is_launcher(rest);
        if (runs_another) return name_of(rest, depth + 1);
        if (!first && !base_name(argument).empty()) first = base_name(argument);
    }
    return first;
}

// The simple commands in shell code. Only for a name: quotes are removed, expansions and redirections are words.
std::vector<std::vector<std::string>> commands_in(std::string_view code) {
    std::vector<std::vector<std::string>> commands(1);
    std::string word;
    char quote = 0;
    const auto end_word = [&] {
        if (!word.empty()) commands.back().push_back(std::exchange(word, {}));
    };
    code = code.substr(0, kMostCodeBytes);
    for (std::size_t i = 0; i < code.size(); ++i) {
        const char c = code[i];
        // 2>&1, &>log
        const bool redirects = c == '&' && ((i > 0 && (code[i - 1] == '>' || code[i - 1] == '<')) ||
                                            (i + 1 < code.size() && code[i + 1] == '>'));
        if (quote != 0 && c == quote)
            quote = 0;
        else if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else if (quote == 0 && !redirects && std::string_view(";&|()\n").find(c) != std::string_view::npos) {
            end_word();
            if (!commands.back().empty()) commands.emplace_back();
        } else if (quote == 0 && (c == ' ' || c == '\t'))
            end_word();
        else
            word += c;
    }
    end_word();
    return commands;
}

// Commands of a shell that prepare for the job: `cd src && . env/bin/activate && python train.py`.
bool is_preparation(std::string_view program) {
    constexpr std::array<std::string_view, 9> kPreparations{"cd",    "source", ".",      "export", "set",
                                                            "umask", "ulimit", "module", "mkdir"};
    return std::ranges::find(kPreparations, program) != kPreparations.end();
}

// The name by the first interpreter or launcher in the code. If there is none, its first program.
std::optional<std::string> name_of_code(std::string_view code, int depth) {
    if (depth == kMostPrefixes) return std::nullopt;
    std::optional<std::string> first;
    for (std::vector<std::string>& words : commands_in(code)) {
        const auto begin = std::ranges::find_if_not(
            words, [](const std::string& word) { return word == "exec" || word.find('=') != std::string::npos; });
        words.erase(words.begin(), begin);
        if (words.empty() || is_preparation(words.front())) continue;
        const bool runs_another = program_names(base_name(words.front()), words).size() > 1 || is_launcher(words);
        if (runs_another) return name_of(words, depth + 1);
        if (!first && !base_name(words.front()).empty()) first = base_name(words.front());
    }
    return first;
}

std::optional<std::string> name_of(const std::vector<std::string>& argv, int depth) {
    if (is_shell(base_name(argv.front())))
        if (const std::string* code = shell_code(argv))
            return name_of_code(*code, depth).value_or(std::string(base_name(argv.front())));
    const auto names = program_names(base_name(argv.front()), argv);
    if (names.size() > 1) {  // an interpreter and its script or module
        const auto script =
            std::ranges::find_if(argv, [&](const std::string& argument) { return argument.ends_with(names[1]); });
        std::vector<std::string> program(script, argv.end());
        if (program.empty()) return std::string(names[1]);
        program.front() = names[1];
        const auto launched =
            is_launcher(program) ? name_of_launched(std::span(program).subspan(1), depth) : std::nullopt;
        return launched ? launched : std::string(names[1]);
    }
    if (!is_launcher(argv)) return std::string(names.front());
    if (auto launched = name_of_launched(std::span(argv).subspan(1), depth)) return launched;
    return std::string(names.front());
}

}  // namespace

std::string job_name(std::string_view comm, const std::vector<std::string>& argv) {
    std::string name(comm);
    if (!argv.empty() && !argv.front().empty()) {
        const auto last = argv.begin() + std::min(std::ssize(argv), kMostArguments);
        if (const auto found = name_of({argv.begin(), last}, 0); found && !found->empty()) name = *found;
    }
    std::ranges::replace(name, '/', '_');
    return name.substr(0, kMostNameBytes);
}

}  // namespace memscope
