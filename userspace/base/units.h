#pragma once
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace memscope {

using Seconds = std::chrono::duration<double>;

struct Bytes {
    std::uint64_t n = 0;
    auto operator<=>(const Bytes&) const = default;
    Bytes& operator+=(Bytes other) {
        n += other.n;
        return *this;
    }
};
inline Bytes operator+(Bytes a, Bytes b) { return {a.n + b.n}; }
// Sizes are read one after the other while they change, so a difference below zero counts as zero.
inline Bytes operator-(Bytes a, Bytes b) { return {a.n > b.n ? a.n - b.n : 0}; }

struct Unlimited {
    auto operator<=>(const Unlimited&) const = default;
};
using Limit = std::variant<Unlimited, Bytes>;
inline std::optional<Bytes> finite(const Limit& limit) {
    const Bytes* bytes = std::get_if<Bytes>(&limit);
    return bytes ? std::optional(*bytes) : std::nullopt;
}

// "512M", "1.5G", "4096": K, M, G, T are powers of 1024.
Result<Bytes> parse_size(std::string_view text);
// "500ms", "10s", "5m", "2h", "1.5s". A number without a unit is refused, because its unit would be a guess.
Result<Seconds> parse_duration(std::string_view text);
// For display: "1.9 GiB", "312 KiB".
std::string human_size(Bytes size);
// For display: "1.0 GiB/h"; per minute for high rates: "540 MiB/min".
std::string human_rate(double bytes_per_second);
// For display: "45 s", "12 min", "3.2 h".
std::string human_duration(Seconds duration);

std::uint64_t page_bytes();  // size of a page of memory of this kernel

}  // namespace memscope
