#pragma once
#include <string>

#include "base/result.h"

namespace memscope::view {

// A terminal that can move its cursor; asked before ncurses, which may end the program.
Status check_terminal_type(const char* type, int fd);
// UTF-8 for the conversions of the C library, whatever the environment says.
Status use_utf8();
// What puts a terminal of the checked type back, for when there is no time for ncurses.
std::string farewell_sequence();

}  // namespace memscope::view
