#include "kernel/features/decode.h"

#include <cstring>
#include <gtest/gtest.h>

#include <memscope/shared/deaths.h>
#include <memscope/shared/gpu.h>
#include <memscope/shared/ranges.h>

namespace memscope {
namespace decode_test {

constexpr std::uint64_t kPage = 4096;

ms_death death_record() {
    ms_death e{};
    e.h = {.time_ns = 99, .start_ns = 5, .target = 7, .pid = 100, .kind = MS_EVENT_DEATH, .size = sizeof e};
    std::strcpy(e.comm, "python");
    e.exit_code = 9;
    e.parent = 1;
    return e;
}

Result<DeathEvidence> decoded(const ms_death& e) { return decode_death(std::as_bytes(std::span(&e, 1)), kPage); }

TEST(DecodeDeath, WithoutWordsHasTheEndAlone) {
    const auto words = decoded(death_record());
    ASSERT_TRUE(words);
    EXPECT_EQ(words->time_ns, 99U);
    EXPECT_EQ(words->id, (ProcessId{100, 5}));
    EXPECT_EQ(words->target, CgroupId{7});
    EXPECT_EQ(words->parent, 1);
    EXPECT_EQ(words->comm, "python");
    EXPECT_EQ(words->exit_code, 9);
    EXPECT_FALSE(words->kill || words->other || words->oom || words->bus || words->failure);
}

TEST(DecodeDeath, HasWhatTheCudaDriverRefused) {
    ms_death e = death_record();
    EXPECT_FALSE(decoded(e)->gpu_failure);
    e.gpu_failure = {.time_ns = 80,
                     .bytes = 70,
                     .held_bytes = 60,
                     .device = 1,
                     .kind = MS_GPU_POOL,
                     .has_uuid = 1,
                     .pad = 0,
                     .uuid = {9}};
    auto words = decoded(e);
    ASSERT_TRUE(words && words->gpu_failure);
    EXPECT_EQ(words->gpu_failure->time_ns, 80U);
    EXPECT_EQ(words->gpu_failure->size, Bytes{70});
    EXPECT_EQ(words->gpu_failure->reserved, Bytes{60});
    EXPECT_EQ(words->gpu_failure->device, GpuUuid{9});
    EXPECT_FALSE(words->gpu_failure->of_host);
    e.gpu_failure.kind = MS_GPU_PINNED_ALLOC;
    e.gpu_failure.has_uuid = 0;
    words = decoded(e);
    EXPECT_TRUE(words->gpu_failure->of_host);
    EXPECT_FALSE(words->gpu_failure->device);
}

TEST(DecodeDeath, KeepsEveryField) {
    ms_death e = death_record();
    e.words.kill.time_ns = 90;
    e.words.kill.sender_target = 8;
    e.words.kill.sender = 200;
    e.words.kill.number = 9;
    e.words.kill.flags = MS_SENT_BY_KERNEL;
    std::strcpy(e.words.kill.comm, "loader");
    ms_oom_mark& mark = e.words.oom;
    mark.time_ns = 91;
    mark.cgroup = 10;
    mark.owner = 11;
    mark.limit_pages = 4;
    mark.usage_pages = 3;
    mark.anon_pages = 2;
    mark.thread = 101;
    mark.trigger = 200;
    mark.flags = MS_OOM_WHOLE_CGROUP;
    std::strcpy(e.words.oom.owner_name, "train");
    e.words.bus.magic = 0x01021994;
    e.words.bus.device = 25;
    std::strcpy(e.words.bus.name, "torch_1");
    e.failure = {.time_ns = 80, .bytes = 70, .magic = 6, .device = 5, .call = MS_FAILED_MREMAP, .reason = 1};
    const auto words = decoded(e);
    ASSERT_TRUE(words && words->kill && words->oom && words->bus && words->failure);
    EXPECT_EQ(words->kill->sender.pid, 200);
    EXPECT_EQ(words->kill->sender.comm, "loader");
    EXPECT_EQ(words->kill->sender_target, CgroupId{8});
    EXPECT_TRUE(words->kill->by_kernel);
    EXPECT_FALSE(words->kill->at_exit || words->kill->with_victim);
    EXPECT_EQ(words->oom->owner.id, CgroupId{11});
    EXPECT_EQ(words->oom->owner.name, "train");
    EXPECT_EQ(words->oom->limit, Bytes{4 * kPage});
    EXPECT_EQ(words->oom->usage, Bytes{3 * kPage});
    EXPECT_EQ(words->oom->anon, Bytes{2 * kPage});
    EXPECT_EQ(words->oom->thread, 101);
    EXPECT_TRUE(words->oom->whole_cgroup);
    EXPECT_EQ(words->bus->name, "torch_1");
    EXPECT_EQ(words->bus->place.device, 25U);
    EXPECT_EQ(words->failure->size, Bytes{70});
    EXPECT_EQ(words->failure->call, std::size_t{MS_FAILED_MREMAP});
    EXPECT_EQ(words->failure->place->magic, 6U);
}

TEST(DecodeDeath, TellsAMarkFromWhatWasNotedAtTheSignal) {
    ms_death e = death_record();
    e.words.oom.trigger = 200;
    EXPECT_FALSE(decoded(e)->oom->chosen);
    e.words.kill.flags = MS_SENT_WITH_VICTIM;
    EXPECT_TRUE(decoded(e)->oom->chosen) << "a process that shares its memory was chosen";
    e.words.kill.flags = 0;
    e.words.oom.time_ns = 91;
    EXPECT_TRUE(decoded(e)->oom->chosen);
}

TEST(DecodeDeath, IsNotLedAstrayByWhatAProcessCanWrite) {
    ms_death e = death_record();
    std::memset(e.comm, 'x', sizeof e.comm);
    std::memset(e.words.bus.name, 'y', sizeof e.words.bus.name);
    e.words.bus.magic = 1;
    e.failure.time_ns = 80;
    e.failure.call = 999;
    e.failure.reason = 999;
    e.words.oom.time_ns = 1;
    e.words.oom.anon_pages = -5;
    const auto words = decoded(e);
    ASSERT_TRUE(words);
    EXPECT_EQ(words->comm.size(), std::size_t{MS_COMM_BYTES});
    EXPECT_EQ(words->bus->name.size(), std::size_t{MS_NAME_BYTES});
    EXPECT_FALSE(words->failure) << "no such call";
    EXPECT_EQ(words->oom->anon, Bytes{0});
}

TEST(DecodeDeath, RefusesWhatIsTooShortOrOfAnotherKind) {
    ms_death e = death_record();
    EXPECT_FALSE(decode_death(std::as_bytes(std::span(&e, 1)).first(sizeof e - 1), kPage));
    EXPECT_FALSE(decode_death({}, kPage));
    e.h.kind = MS_EVENT_EXIT;
    EXPECT_FALSE(decoded(e));
    e = death_record();
    e.h.size = 32;
    EXPECT_FALSE(decoded(e));
}

ms_range range_record() {
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
    const auto event = decoded(range_record());
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
    EXPECT_FALSE(decoded(range_record(), sizeof(ms_range) - 1));
    const auto broken = [](auto change) {
        ms_range wire = range_record();
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

}  // namespace decode_test
}  // namespace memscope
