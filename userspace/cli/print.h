#pragma once
#include <string_view>

#include "base/result.h"

namespace memscope {

// Everything on standard output, or an error: a full disk must not look like success.
Status print(std::string_view text);
// One line on standard error. If that fails there is nobody left to tell.
void complain(const Error& error);

// Descriptors 0 to 2 that were closed would be taken by the next files we open, and what we print would go there.
// Writing to a standard output that was closed still fails afterwards.
void guard_standard_streams();

}  // namespace memscope
