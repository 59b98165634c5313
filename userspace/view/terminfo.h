#pragma once
#include <string>

#include "base/result.h"

namespace memscope::view {

// Checks that the terminal can move its cursor. Call it before ncurses, which may exit the program on a bad type.
Status check_terminal_type(const char* type, int fd);
// Sets a UTF-8 locale for the conversions of the C library, even if the environment names another.
Status use_utf8();
// The bytes that restore a terminal of the checked type, for a crash, where ncurses cannot be called.
std::string farewell_sequence();

}  // namespace memscope::view
