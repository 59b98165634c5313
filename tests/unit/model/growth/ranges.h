#pragma once
#include "model/growth/mapped_growth.h"

namespace memscope {

// Events as the BPF programs send them. The tests count in pages of 64 KiB.
constexpr std::uint64_t kUnit = 65'536;
constexpr Access kWritable{.readable = true, .writable = true};
constexpr Access kReadable{.readable = true};
constexpr Access kNoAccess{};
constexpr ProcessId kProcess{.pid = 10, .start_ns = 1};

inline AddressRange units(std::uint64_t from, std::uint64_t to) { return {from * kUnit, to * kUnit}; }

inline RangeEvent event(ms_range_call call, AddressRange range, std::uint64_t stack = 0) {
    return {.time_ns = 1000, .id = kProcess, .call = call, .range = range, .stack = stack, .thread = 10};
}
inline RangeEvent mapped(AddressRange range, std::uint64_t stack, Access access = kWritable,
                         RangeKind kind = RangeKind::anonymous) {
    RangeEvent e = event(MS_RANGE_MAP, range, stack);
    e.access = access;
    e.kind = kind;
    return e;
}
inline RangeEvent protect(AddressRange range, Access access, std::uint64_t stack) {
    RangeEvent e = event(MS_RANGE_PROTECT, range, stack);
    e.access = access;
    return e;
}
inline RangeEvent remap(ms_range_call call, AddressRange old, AddressRange now, std::uint64_t stack = 0) {
    RangeEvent e = event(call, now, stack);
    e.old = old;
    return e;
}
inline RangeEvent by_thread(RangeEvent e, pid_t thread) {
    e.thread = thread;
    return e;
}

inline std::uint64_t units_at(const RangeMap& map, std::uint64_t stack) {
    const auto found = map.totals().stacks.find(stack);
    return found == map.totals().stacks.end() ? 0 : found->second.sum().n / kUnit;
}

}  // namespace memscope
