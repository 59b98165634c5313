#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memscope {

// The words of a command line that is run without a shell. Blanks separate them; '...' keeps everything as it is,
// "..." everything but \" and \\; elsewhere \ keeps the next character. What only a shell could do (variables, pipes,
// patterns) is refused, not passed on as if it had no meaning.
Result<std::vector<std::string>> split_words(std::string_view line);

}  // namespace memscope
