#pragma once
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/arguments/options.h"

namespace memscope {

// A machine with or without a config file.
inline ReadFile no_config() {
    return [](const std::string& path) -> Result<std::string> { return system_error(ENOENT, "open " + path); };
}
inline ReadFile config_at(std::string expected, std::string text) {
    return [expected = std::move(expected), text = std::move(text)](const std::string& path) -> Result<std::string> {
        if (path != expected) return system_error(ENOENT, "open " + path);
        return text;
    };
}

inline Result<Command> parse(const std::vector<std::string>& args, const ReadFile& read = no_config()) {
    return parse_command(args, read);
}

// The options of a command line that must be accepted.
template <class Options>
Options parsed(const std::vector<std::string>& args, const ReadFile& read = no_config()) {
    const auto command = parse(args, read);
    if (!command) {
        ADD_FAILURE() << command.error().message();
        return {};
    }
    const auto* options = std::get_if<Options>(&*command);
    if (options) return *options;
    ADD_FAILURE() << "another command";
    return {};
}

// The error message of a command line that must be refused: always one line.
inline std::string refusal(const std::vector<std::string>& args, const ReadFile& read = no_config()) {
    const auto command = parse(args, read);
    if (command) {
        ADD_FAILURE() << "accepted";
        return {};
    }
    std::string message = command.error().message();
    for (const char c : message)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) ADD_FAILURE() << "control character in: " << message;
    EXPECT_LT(message.size(), 400U) << message;
    return message;
}

}  // namespace memscope
