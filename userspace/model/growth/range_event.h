#pragma once
#include <compare>
#include <cstdint>

#include "model/processes/process.h"
#include <memscope/shared/ranges.h>

namespace memscope {

struct AddressRange {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // behind the last byte
    std::uint64_t size() const { return end - begin; }
    auto operator<=>(const AddressRange&) const = default;
};

enum class RangeKind : std::uint8_t {
    anonymous,  // private, without a file
    shared,     // shared memory: of shared anonymous mappings, memfd, tmpfs, hugetlbfs
    attached,   // shared memory of System V
    file,       // private mappings of a file included
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

// What a call did to a range of an address space; see shared/ranges.h for what each call means and when it is told.
struct RangeEvent {
    std::uint64_t time_ns = 0;  // boot clock
    ProcessId id{};
    ms_range_call call = MS_RANGE_MAP;
    AddressRange range{};
    AddressRange old{};
    RangeKind kind = RangeKind::other;
    Access access{};
    std::uint64_t stack = 0;  // 0: none
    std::uint64_t lost = 0;   // events of this address space that found no room so far
    pid_t thread = 0;
    std::uint32_t generation = 0;  // rises with every exec
    pid_t parent = 0;
};

// A range as /proc/PID/maps has it.
struct FoundRange {
    AddressRange range{};
    RangeKind kind = RangeKind::other;
    Access access{};
    bool shared_file = false;  // it may be one of a tmpfs
};

}  // namespace memscope
