#pragma once
#include <compare>
#include <cstdint>

#include "model/processes/process.h"
#include <memscope/shared/ranges.h>

namespace memscope {

struct AddressRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // exclusive
    std::uint64_t size() const { return end - begin; }
    auto operator<=>(const AddressRange&) const = default;
};

enum class RangeKind : std::uint8_t {
    anonymous,  // private, without a file
    shared,     // shared memory: of shared anonymous mappings, memfd, tmpfs, hugetlbfs
    attached,   // shared memory of System V
    file,       // mappings of files, shared or private
    other,      // devices
};
constexpr bool is_memory(RangeKind kind) { return kind < RangeKind::file; }

struct Access {
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool none() const { return !readable && !writable && !executable; }
    auto operator<=>(const Access&) const = default;
};

// A change of a range of an address space. shared/ranges.h describes each call, and when its event is sent.
struct RangeEvent {
    std::uint64_t time_ns = 0;  // boot clock
    ProcessId id{};
    ms_range_call call = MS_RANGE_MAP;
    AddressRange range{};
    AddressRange old{};
    RangeKind kind = RangeKind::other;
    Access access{};
    std::uint64_t stack = 0;  // 0: none
    std::uint64_t lost = 0;   // dropped events of this address space so far
    pid_t thread = 0;
    std::uint32_t generation = 0;  // rises with every exec
    pid_t parent = 0;
};

// A range as /proc/PID/maps shows it.
struct FoundRange {
    AddressRange range{};
    RangeKind kind = RangeKind::other;
    Access access{};
    bool shared_file = false;  // may be a file in a tmpfs
};

}  // namespace memscope
