#pragma once
#include <string>
#include <string_view>

namespace memscope {

// The same bytes give the same result: no time stands in it.
std::string gzipped(std::string_view bytes);

}  // namespace memscope
