#pragma once
#include <span>
#include <string_view>

namespace memscope {

extern const char* const kHelp;  // the text of --help, for a terminal of 80 columns

// The text of `memscope NAME --help`, for a terminal of 80 columns. Each has a section "Examples:".
struct CommandHelp {
    std::string_view name;
    const char* text;
};
std::span<const CommandHelp> command_helps();
// Null if there is no such command.
const char* help_of(std::string_view command);

}  // namespace memscope
