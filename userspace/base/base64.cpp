#include "base/base64.h"

#include <array>
#include <cstdint>

namespace memscope {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(kNoDigit);
    for (std::size_t i = 0; i < kDigits.size(); ++i)
        values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
    return values;
}();

}  // namespace

std::string base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::string_view group = bytes.substr(i, 3);
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 3; ++j)
            bits = bits << 8U | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j) out += j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        const std::string_view group = text.substr(i, 4);
        std::size_t digits = 4;
        while (i + 4 == text.size() && digits > 2 && group[digits - 1] == '=') --digits;
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            const std::uint8_t value = j < digits ? kValues[static_cast<unsigned char>(group[j])] : 0;
            if (value == kNoDigit) return std::nullopt;
            bits = bits << 6U | value;
        }
        for (std::size_t j = 0; j + 1 < digits; ++j) out += static_cast<char>(bits >> (16 - 8 * j) & 0xFFU);
        if ((digits == 3 && (bits & 0xFFU) != 0) || (digits == 2 && (bits & 0xFFFFU) != 0)) return std::nullopt;
    }
    return out;
}

}  // namespace memscope
