#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace memscope {

// FIPS 180-4.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

}  // namespace memscope
