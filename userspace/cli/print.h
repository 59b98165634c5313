#pragma once
#include <string_view>

#include "base/result.h"

namespace memscope {

// Writes the whole text to standard output, or returns an error: a full disk must not look like success.
Status print(std::string_view text);
// Writes one line to standard error. Ignores errors, because there is no other place to report them.
void print_error(const Error& error);

// Opens /dev/null on each of the descriptors 0 to 2 that is closed. Otherwise open() would use its number for another
// file, and output would go into that file. The replacement is read-only, so writing to a closed standard output still
// fails.
void guard_standard_streams();

}  // namespace memscope
