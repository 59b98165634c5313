#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

namespace memscope {

// Addresses of a process.
struct HeapRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte

    std::uint64_t size() const { return end > start ? end - start : 0; }
    bool contains(std::uint64_t address) const { return start <= address && address < end; }
    bool contains(std::uint64_t address, std::uint64_t bytes) const {
        return contains(address) && bytes <= end - address;
    }
    bool operator==(const HeapRange&) const = default;
};

inline bool starts_before(const HeapRange& a, const HeapRange& b) { return a.start < b.start; }

// The range that contains the address; null if there is none. The ranges are sorted and disjoint.
inline const HeapRange* range_at(std::span<const HeapRange> sorted, std::uint64_t address) {
    const auto behind = std::upper_bound(sorted.begin(), sorted.end(), address,
                                         [](std::uint64_t value, const HeapRange& r) { return value < r.start; });
    if (behind == sorted.begin() || !std::prev(behind)->contains(address)) return nullptr;
    return &*std::prev(behind);
}

constexpr std::uint64_t rounded_down(std::uint64_t value, std::uint64_t unit) { return value - value % unit; }
constexpr std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
    return rounded_down(value + unit - 1, unit);
}

}  // namespace memscope
