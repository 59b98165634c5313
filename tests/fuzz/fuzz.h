#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memscope::fuzz {

void one(std::string_view bytes);  // each target defines it: all parsers of its group on the same bytes

// libFuzzer keeps the input that ends the program. Not __builtin_trap: on arm64 that is a signal it does not catch.
inline void require(bool holds, const char* property, std::string_view shown = {}) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n%.*s\n", property, static_cast<int>(shown.size()), shown.data());
    std::abort();
}

// An independent decoder, because the decoder under test cannot check itself. Returns nullopt at the end of the text
// and at bytes that are not UTF-8.
inline std::optional<char32_t> next_character(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty()) return std::nullopt;
    const int ones = __builtin_clz(static_cast<unsigned>(static_cast<unsigned char>(~byte(0))) << 24U | 1U << 23U);
    if (ones == 1 || ones > 4 || text.size() < static_cast<std::size_t>(ones)) return std::nullopt;
    const std::size_t length = ones == 0 ? 1 : static_cast<std::size_t>(ones);
    char32_t code = byte(0) & (0xFFU >> (ones == 0 ? 1 : ones + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
        code = code << 6U | (byte(i) & 0x3FU);
    }
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
    text.remove_prefix(length);
    return code;
}

inline bool is_utf8(std::string_view text) {
    while (next_character(text)) continue;
    return text.empty();
}

// C0, DEL, C1, line separators, and Unicode's Bidi_Control property.
inline bool steers(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// True for UTF-8 text without control characters for a terminal. `also` is a control character that is allowed.
inline bool is_clean(std::string_view text, char32_t also = 'x') {
    while (const auto c = next_character(text))
        if (steers(*c) && *c != also) return false;
    return text.empty();
}

// The parsed value, if any. Checks that an error is one clean line.
template <class T>
std::optional<T> parsed(const Result<T>& result) {
    if (result) return *result;
    const std::string message = result.error().message();
    require(!message.empty() && is_clean(message), "an error is one clean line", message);
    return std::nullopt;
}

// Takes values from the front of the input; zeros and empty texts when nothing is left.
class Input {
  public:
    explicit Input(std::string_view bytes) : rest_(bytes) {}

    bool empty() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }
    std::string_view take(std::size_t most) {
        const auto taken = rest_.substr(0, most);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    template <class T = std::uint8_t>
    T number() {
        T value{};
        const auto bytes = take(sizeof value);
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    }
    bool flag() { return (number() & 1U) != 0; }
    std::string text() { return std::string(take(number())); }  // at most 255 bytes, any

  private:
    std::string_view rest_;
};

}  // namespace memscope::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    memscope::fuzz::one({reinterpret_cast<const char*>(data), size});
    return 0;
}
