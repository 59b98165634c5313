#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace memscope {

// RFC 4648, with padding and without line ends.
std::string base64(std::string_view bytes);
// nullopt if the text is not exactly what base64() makes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace memscope
