#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include <memscope/shared/wire.h>

namespace memscope {

// Words for causes of mapping and unmapping, failed calls and reasons, in the order of the wire header.
std::string_view mapped_by(std::size_t index);
std::string_view unmapped_by(std::size_t index);
std::string_view failed_call(std::size_t index);
std::string_view failure_reason(std::size_t index);

// Bytes that an address space or a role has mapped and unmapped since it is followed, and failed calls. All values only
// rise. Mapped minus unmapped is the current size.
struct Mappings {
    std::array<Bytes, MS_MAPPED_COUNT> mapped{};
    std::array<Bytes, MS_UNMAPPED_COUNT> unmapped{};
    std::array<std::array<std::uint64_t, MS_REASON_COUNT>, MS_FAILED_COUNT> failures{};

    Bytes outstanding() const;
    // Mapped minus unmapped as one difference with the cause "other". It can be negative for a moment, because threads
    // count at the same time.
    Mappings summed() const;
    Mappings reversed() const;  // of such a difference: with the opposite sign
    Mappings& operator+=(const Mappings& other);
    bool operator==(const Mappings&) const = default;
};
// The increase since `before`.
Mappings operator-(const Mappings& now, const Mappings& before);

}  // namespace memscope
