#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include <memscope/shared/wire.h>

namespace memscope {

// What mapped, what unmapped, what failed and why: the words of the wire header, in its order.
std::string_view mapped_by(std::size_t index);
std::string_view unmapped_by(std::size_t index);
std::string_view failed_call(std::size_t index);
std::string_view failure_reason(std::size_t index);

// Bytes an address space, or a role, has mapped and unmapped since it is followed, and calls that failed. All only
// rise; mapped minus unmapped is what is there now.
struct Mappings {
    std::array<Bytes, MS_MAPPED_COUNT> mapped{};
    std::array<Bytes, MS_UNMAPPED_COUNT> unmapped{};
    std::array<std::array<std::uint64_t, MS_REASON_COUNT>, MS_FAILED_COUNT> failures{};

    Bytes outstanding() const;
    // The same as one difference, of no known call. Where threads booked at once it may be less than nothing for a
    // while.
    Mappings summed() const;
    Mappings reversed() const;  // of such a difference: what takes it back
    Mappings& operator+=(const Mappings& other);
    bool operator==(const Mappings&) const = default;
};
// What has come since `before`.
Mappings operator-(const Mappings& now, const Mappings& before);

}  // namespace memscope
