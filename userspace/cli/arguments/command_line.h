#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memscope {

inline constexpr const char* kSeeHelp = "see memscope --help";

// What may follow the name of a command. Options have their dashes.
struct CommandSyntax {
    std::string name{};                  // empty: memscope without a command, which watches
    std::vector<std::string> options{};  // take one value
    std::vector<std::string> lists{};    // take one value, and may be repeated
    std::vector<std::string> flags{};
    std::vector<std::string> words{};  // arguments without an option, for example the file
};

// What the user gave to one command. It has the form that the syntax of the command wants: no value is empty, and only
// lists and flags are given more than once.
class Given {
  public:
    explicit Given(std::map<std::string, std::vector<std::string>> values) : values_(std::move(values)) {}

    // All values of an option. Those of a flag are "true" and "false", because --json=false is allowed.
    const std::vector<std::string>& all(const std::string& name) const { return values_.at(name); }
    bool has(const std::string& name) const { return !all(name).empty(); }
    std::optional<std::string> text(const std::string& name) const {
        return has(name) ? std::optional(all(name).front()) : std::nullopt;
    }
    // A later --json=false overrides an earlier --json.
    bool flag(const std::string& name) const { return has(name) && all(name).back() == "true"; }

    // Parses the value of an option into a variable, which keeps its value if the option is not given.
    template <class T, class Parse>
    Status read(const std::string& name, Parse parse, T& into) const;

  private:
    std::map<std::string, std::vector<std::string>> values_;  // by name, of everything in the syntax
};

struct CommandLine {
    std::string command{};  // as in its syntax
    Given given;
    std::vector<std::string> launched{};  // words after "--": the command to run
};

// Finds the command of a call, and what is given to it. `watching` is the syntax without a command.
Result<CommandLine> read_command_line(std::span<const std::string> words, const CommandSyntax& watching,
                                      std::span<const CommandSyntax> commands);

// "did you mean cgroup?" if one of the known words is similar, else `otherwise`.
std::string did_you_mean(std::string_view word, std::span<const std::string> known, std::string otherwise);

// The same error with `subject` before its text.
Error about(const std::string& subject, const Error& error);

template <class T, class Parse>
Status Given::read(const std::string& name, Parse parse, T& into) const {
    if (!has(name)) return Done{};
    auto value = parse(all(name).front());
    if (!value) return about(name, value.error());
    into = *std::move(value);
    return Done{};
}

}  // namespace memscope
