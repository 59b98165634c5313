#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace memscope {

// Capabilities of a process as bits, numbered as in <linux/capability.h>.
struct CapabilitySet {
    std::uint64_t bits = 0;

    constexpr bool has(int number) const { return ((bits >> number) & 1U) != 0; }
    constexpr CapabilitySet with(int number) const { return {bits | (std::uint64_t{1} << number)}; }
    constexpr bool operator==(const CapabilitySet&) const = default;
};

// From /proc/PID/status. `key` is one of CapInh, CapPrm, CapEff, CapBnd, CapAmb. Empty if there is no such line.
CapabilitySet parse_capabilities(std::string_view status, std::string_view key);

// What memscope needs a capability for, and what fails without it. docs/least-privilege.md has the same table.
struct CapabilityUse {
    int number;
    std::string_view name;
    std::string_view use;
    std::string_view without;
};
std::span<const CapabilityUse> capability_uses();

}  // namespace memscope
