#include "analysis/program_names.h"

#include <algorithm>
#include <optional>

namespace memscope {
namespace {

// How an interpreter's own options are told from its script.
struct Interpreter {
    std::string_view name;              // or its beginning
    bool versions;                      // "python3.11"
    std::string_view takes_value;       // short options with a value
    char code;                          // short option whose value is the program itself
    char module;                        // short option whose value names a module, 0 if there is none
    std::string_view long_takes_value;  // the one long option that matters
};
constexpr Interpreter kInterpreters[] = {
    {"python", true, "WXQ", 'c', 'm', "--check-hash-based-pycs"},
    {"pypy", true, "WXQ", 'c', 'm', "--check-hash-based-pycs"},
    {"bash", false, "oO", 'c', 0, "--rcfile"},
    {"sh", false, "o", 'c', 0, ""},
    {"dash", false, "o", 'c', 0, ""},
    {"zsh", false, "o", 'c', 0, ""},
    {"ksh", false, "o", 'c', 0, ""},
};

std::string_view base_name(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);           // npos + 1 is 0
    if (path.starts_with('-')) path.remove_prefix(1);  // a login shell
    return path;
}

const Interpreter* interpreter_called(std::string_view name) {
    const auto found = std::ranges::find_if(kInterpreters, [&](const Interpreter& known) {
        return known.versions ? name.starts_with(known.name) : name == known.name;
    });
    return found == std::end(kInterpreters) ? nullptr : found;
}

std::optional<std::string_view> script_of(const Interpreter& interpreter, const std::vector<std::string>& argv) {
    for (std::size_t i = 1; i < argv.size(); ++i) {
        const std::string_view argument = argv[i];
        if (argument.empty() || argument == "-") return std::nullopt;  // the program comes from standard input
        if (argument.front() != '-') return base_name(argument);
        if (argument.starts_with("--")) {
            if (argument == interpreter.long_takes_value) ++i;
            continue;
        }
        for (std::size_t at = 1; at < argument.size(); ++at) {  // flags may stand together: -um torch.distributed.run
            const char flag = argument[at];
            const std::string_view rest = argument.substr(at + 1);
            if (flag == interpreter.code) return std::nullopt;
            if (interpreter.module != 0 && flag == interpreter.module) {
                if (!rest.empty()) return rest;
                return i + 1 < argv.size() ? std::optional<std::string_view>(argv[i + 1]) : std::nullopt;
            }
            if (interpreter.takes_value.find(flag) == std::string_view::npos) continue;
            if (rest.empty()) ++i;
            break;
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string_view> program_names(std::string_view comm, const std::vector<std::string>& argv) {
    std::string_view program = argv.empty() ? comm : base_name(argv.front());
    if (program.empty()) program = comm;
    std::vector<std::string_view> names{program};
    if (const Interpreter* interpreter = interpreter_called(program))
        if (const auto script = script_of(*interpreter, argv)) names.push_back(*script);
    return names;
}

}  // namespace memscope
