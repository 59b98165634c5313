#pragma once
#include <string>
#include <string_view>

namespace memscope {

// The name as a C++ programmer wrote it; unchanged if it is none, or one that might take too long. Any bytes, from a
// file that somebody else wrote.
std::string demangled(std::string_view name);

// How long the demangled name can get at most, as far as that shows without taking it apart.
double demangled_size_bound(std::string_view name);

}  // namespace memscope
