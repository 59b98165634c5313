#include <gtest/gtest.h>

#include "kernel/features/decode.h"
#include <memscope/shared/ranges.h>

namespace memscope {
namespace decode_range_test {

ms_range example() {
    ms_range wire{};
    wire.h.pid = 7;
    wire.h.start_ns = 8;
    wire.h.kind = MS_EVENT_RANGE;
    wire.h.size = sizeof wire;
    wire.call = MS_RANGE_MOVED;
    wire.kind = MS_RANGE_SHARED;
    wire.protection = MS_RANGE_READABLE | MS_RANGE_WRITABLE;
    wire.begin = 0x20000;
    wire.end = 0x40000;
    wire.old_begin = 0x1000;
    wire.old_end = 0x2000;
    wire.stack = 99;
    wire.lost = 3;
    wire.thread = 12;
    wire.generation = 2;
    return wire;
}
Result<RangeEvent> decoded(const ms_range& wire, std::size_t bytes = sizeof(ms_range)) {
    return decode_range_event(std::as_bytes(std::span(&wire, 1)).first(bytes));
}

TEST(DecodeRange, EveryFieldArrives) {
    const auto event = decoded(example());
    ASSERT_TRUE(event);
    EXPECT_EQ(event->id, (ProcessId{7, 8}));
    EXPECT_EQ(event->call, MS_RANGE_MOVED);
    EXPECT_EQ(event->kind, RangeKind::shared);
    EXPECT_EQ(event->access, (Access{.readable = true, .writable = true}));
    EXPECT_EQ(event->range, (AddressRange{0x20000, 0x40000}));
    EXPECT_EQ(event->old, (AddressRange{0x1000, 0x2000}));
    EXPECT_EQ(event->stack, 99U);
    EXPECT_EQ(event->lost, 3U);
    EXPECT_EQ(event->thread, 12);
    EXPECT_EQ(event->generation, 2U);
}

TEST(DecodeRange, WhatIsMalformedIsAnError) {
    EXPECT_FALSE(decoded(example(), sizeof(ms_range) - 1));
    const auto broken = [](auto change) {
        ms_range wire = example();
        change(wire);
        return !decoded(wire);
    };
    EXPECT_TRUE(broken([](ms_range& wire) { wire.h.kind = MS_EVENT_FORK; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.h.size = sizeof wire + 1; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.call = 0; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.call = MS_RANGE_CALL_END; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.kind = MS_RANGE_KIND_END; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.end = wire.begin - 1; }));
    EXPECT_TRUE(broken([](ms_range& wire) { wire.old_end = 0; }));
}

}  // namespace decode_range_test
}  // namespace memscope
