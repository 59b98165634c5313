#pragma once
#include <string>
#include <string_view>

namespace memscope {

// Demangles a C++ name. Returns the name unchanged if it is not mangled or if demangling might take too long. The name
// is untrusted: any bytes, from a file of another user.
std::string demangled(std::string_view name);

// Upper bound of the length of the demangled name, computed without demangling it.
double demangled_size_bound(std::string_view name);

}  // namespace memscope
