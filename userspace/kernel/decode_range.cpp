#include "kernel/decode_range.h"

#include <cstring>

#include <memscope/shared/ranges.h>

namespace memscope {
namespace {

Error malformed(const char* what) { return {std::make_error_code(std::errc::bad_message), what, {}}; }

RangeKind kind_of(std::uint8_t wire) {
    switch (wire) {
        case MS_RANGE_ANONYMOUS:
            return RangeKind::anonymous;
        case MS_RANGE_SHARED:
            return RangeKind::shared;
        case MS_RANGE_ATTACHED:
            return RangeKind::attached;
        case MS_RANGE_FILE:
            return RangeKind::file;
        default:
            return RangeKind::other;
    }
}

bool is_backwards(const AddressRange& range) { return range.end < range.begin; }

}  // namespace

Result<RangeEvent> decode_range_event(std::span<const std::byte> record) {
    ms_range wire;
    if (record.size() < sizeof wire) return malformed("range record");
    std::memcpy(&wire, record.data(), sizeof wire);
    if (wire.h.kind != MS_EVENT_RANGE || wire.h.size > record.size()) return malformed("range header");
    if (wire.call < MS_RANGE_MAP || wire.call >= MS_RANGE_CALL_END || wire.kind >= MS_RANGE_KIND_END)
        return malformed("range of unknown kind");
    const RangeEvent event{.time_ns = wire.h.time_ns,
                           .id = {static_cast<pid_t>(wire.h.pid), wire.h.start_ns},
                           .call = static_cast<ms_range_call>(wire.call),
                           .range = {wire.begin, wire.end},
                           .old = {wire.old_begin, wire.old_end},
                           .kind = kind_of(wire.kind),
                           .access = {.readable = (wire.protection & MS_RANGE_READABLE) != 0,
                                      .writable = (wire.protection & MS_RANGE_WRITABLE) != 0,
                                      .executable = (wire.protection & MS_RANGE_EXECUTABLE) != 0},
                           .stack = wire.stack,
                           .lost = wire.lost,
                           .thread = static_cast<pid_t>(wire.thread),
                           .generation = wire.generation,
                           .parent = static_cast<pid_t>(wire.parent)};
    if (is_backwards(event.range) || is_backwards(event.old)) return malformed("range that ends before it begins");
    return event;
}

}  // namespace memscope
