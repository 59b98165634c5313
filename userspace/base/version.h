#pragma once
#include <string_view>

namespace memscope {

extern const std::string_view kVersion;  // "0.1.0"; "dev" if the build set no version

}  // namespace memscope
