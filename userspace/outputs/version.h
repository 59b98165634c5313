#pragma once
#include <string_view>

namespace memscope {

extern const std::string_view kVersion;  // "0.1.0"; "dev" where the build did not say

}  // namespace memscope
