#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memscope {

// Splits a command line that is run without a shell into words. Blanks separate words. '...' keeps all characters,
// "..." all except \" and \\, and elsewhere \ keeps the next character. Features of a shell (variables, pipes,
// patterns) are refused, because a user would not expect them to be passed on as plain characters.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace memscope
