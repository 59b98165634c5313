#include "kernel/features/decode.h"

#include <cstring>
#include <gtest/gtest.h>

#include <memscope/shared/cuda.h>
#include <memscope/shared/deaths.h>
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

TEST(DecodeDeath, WithoutEvidenceHasOnlyTheExit) {
    const auto evidence = decoded(death_record());
    ASSERT_TRUE(evidence);
    EXPECT_EQ(evidence->time_ns, 99U);
    EXPECT_EQ(evidence->id, (ProcessId{100, 5}));
    EXPECT_EQ(evidence->target, CgroupId{7});
    EXPECT_EQ(evidence->parent, 1);
    EXPECT_EQ(evidence->comm, "python");
    EXPECT_EQ(evidence->exit_code, 9);
    EXPECT_FALSE(evidence->kill || evidence->other || evidence->oom || evidence->bus || evidence->failure);
}

TEST(DecodeDeath, HasTheFailedCudaAllocation) {
    ms_death e = death_record();
    EXPECT_FALSE(decoded(e)->cuda_failure);
    e.cuda_failure = {.time_ns = 80,
                      .bytes = 70,
                      .held_bytes = 60,
                      .device = 1,
                      .kind = MS_CUDA_KIND_POOL,
                      .has_uuid = 1,
                      .pad = 0,
                      .uuid = {9}};
    auto evidence = decoded(e);
    ASSERT_TRUE(evidence && evidence->cuda_failure);
    EXPECT_EQ(evidence->cuda_failure->time_ns, 80U);
    EXPECT_EQ(evidence->cuda_failure->size, Bytes{70});
    EXPECT_EQ(evidence->cuda_failure->reserved, Bytes{60});
    EXPECT_EQ(evidence->cuda_failure->device, GpuUuid{9});
    EXPECT_FALSE(evidence->cuda_failure->of_host);
    e.cuda_failure.kind = MS_CUDA_KIND_PINNED_ALLOC;
    e.cuda_failure.has_uuid = 0;
    evidence = decoded(e);
    EXPECT_TRUE(evidence->cuda_failure->of_host);
    EXPECT_FALSE(evidence->cuda_failure->device);
}

TEST(DecodeDeath, KeepsEveryField) {
    ms_death e = death_record();
    e.evidence.kill.time_ns = 90;
    e.evidence.kill.sender_target = 8;
    e.evidence.kill.sender = 200;
    e.evidence.kill.number = 9;
    e.evidence.kill.flags = MS_SENT_BY_KERNEL;
    std::strcpy(e.evidence.kill.comm, "loader");
    ms_oom_mark& mark = e.evidence.oom;
    mark.time_ns = 91;
    mark.cgroup = 10;
    mark.owner = 11;
    mark.limit_pages = 4;
    mark.usage_pages = 3;
    mark.anon_pages = 2;
    mark.thread = 101;
    mark.trigger = 200;
    mark.flags = MS_OOM_WHOLE_CGROUP;
    std::strcpy(e.evidence.oom.owner_name, "train");
    e.evidence.bus.magic = 0x01021994;
    e.evidence.bus.device = 25;
    std::strcpy(e.evidence.bus.name, "torch_1");
    e.failure = {.time_ns = 80, .bytes = 70, .magic = 6, .device = 5, .call = MS_FAILED_MREMAP, .reason = 1};
    const auto evidence = decoded(e);
    ASSERT_TRUE(evidence && evidence->kill && evidence->oom && evidence->bus && evidence->failure);
    EXPECT_EQ(evidence->kill->sender.pid, 200);
    EXPECT_EQ(evidence->kill->sender.comm, "loader");
    EXPECT_EQ(evidence->kill->sender_target, CgroupId{8});
    EXPECT_TRUE(evidence->kill->by_kernel);
    EXPECT_FALSE(evidence->kill->at_exit || evidence->kill->with_victim);
    EXPECT_EQ(evidence->oom->owner.id, CgroupId{11});
    EXPECT_EQ(evidence->oom->owner.name, "train");
    EXPECT_EQ(evidence->oom->limit, Bytes{4 * kPage});
    EXPECT_EQ(evidence->oom->usage, Bytes{3 * kPage});
    EXPECT_EQ(evidence->oom->anon, Bytes{2 * kPage});
    EXPECT_EQ(evidence->oom->thread, 101);
    EXPECT_TRUE(evidence->oom->whole_cgroup);
    EXPECT_EQ(evidence->bus->name, "torch_1");
    EXPECT_EQ(evidence->bus->place.device, 25U);
    EXPECT_EQ(evidence->failure->size, Bytes{70});
    EXPECT_EQ(evidence->failure->call, std::size_t{MS_FAILED_MREMAP});
    EXPECT_EQ(evidence->failure->place->magic, 6U);
}

TEST(DecodeDeath, DistinguishesAMarkFromTheShortageAtTheSignal) {
    ms_death e = death_record();
    e.evidence.oom.trigger = 200;
    EXPECT_FALSE(decoded(e)->oom->chosen);
    e.evidence.kill.flags = MS_SENT_WITH_VICTIM;
    EXPECT_TRUE(decoded(e)->oom->chosen) << "a process that shares its memory was chosen";
    e.evidence.kill.flags = 0;
    e.evidence.oom.time_ns = 91;
    EXPECT_TRUE(decoded(e)->oom->chosen);
}

TEST(DecodeDeath, ToleratesValuesThatAProcessControls) {
    ms_death e = death_record();
    std::memset(e.comm, 'x', sizeof e.comm);
    std::memset(e.evidence.bus.name, 'y', sizeof e.evidence.bus.name);
    e.evidence.bus.magic = 1;
    e.failure.time_ns = 80;
    e.failure.call = 999;
    e.failure.reason = 999;
    e.evidence.oom.time_ns = 1;
    e.evidence.oom.anon_pages = -5;
    const auto evidence = decoded(e);
    ASSERT_TRUE(evidence);
    EXPECT_EQ(evidence->comm.size(), std::size_t{MS_COMM_BYTES});
    EXPECT_EQ(evidence->bus->name.size(), std::size_t{MS_NAME_BYTES});
    EXPECT_FALSE(evidence->failure) << "no such call";
    EXPECT_EQ(evidence->oom->anon, Bytes{0});
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

TEST(DecodeRange, RefusesMalformedRecords) {
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

ms_stack stack_record(std::uint16_t frames, std::uint16_t left_out) {
    ms_stack wire{};
    wire.h = {.time_ns = 99, .start_ns = 5, .target = 7, .pid = 100, .kind = MS_EVENT_STACK, .size = sizeof wire};
    wire.id = 3;
    wire.python_count = frames;
    wire.python_left_out = left_out;
    for (std::uint32_t i = 0; i < frames; ++i) wire.python[i].code = i;
    return wire;
}

Result<RawStack> decoded(const ms_stack& wire) { return decode_stack(std::as_bytes(std::span(&wire, 1))); }

TEST(DecodeStack, HasAllFramesOfAShortStack) {
    const auto stack = decoded(stack_record(3, 0));
    ASSERT_TRUE(stack);
    EXPECT_EQ(stack->python_left_out, 0U);
    ASSERT_EQ(stack->python.size(), 3U);
    EXPECT_EQ(stack->python[2].code, 2U);
}

// The BPF program writes frame n of a deep stack to the place of frame n - MS_PYTHON_OUTERMOST.
TEST(DecodeStack, PutsTheOutermostFramesOfADeepStackInOrder) {
    for (const std::uint16_t left_out : {1, 5, 16, 100}) {
        ms_stack wire = stack_record(MS_PYTHON_FRAMES, left_out);
        const std::uint32_t depth = MS_PYTHON_FRAMES + left_out;
        for (std::uint32_t n = 0; n < depth; ++n) {
            const std::uint32_t ring = (n - MS_PYTHON_INNERMOST) % MS_PYTHON_OUTERMOST;
            wire.python[n < MS_PYTHON_INNERMOST ? n : MS_PYTHON_INNERMOST + ring].code = n;
        }
        const auto stack = decoded(wire);
        ASSERT_TRUE(stack);
        EXPECT_EQ(stack->python_left_out, left_out);
        ASSERT_EQ(stack->python.size(), std::size_t{MS_PYTHON_FRAMES});
        EXPECT_EQ(stack->python[MS_PYTHON_INNERMOST - 1].code, MS_PYTHON_INNERMOST - 1U);
        EXPECT_EQ(stack->python[MS_PYTHON_INNERMOST].code, depth - MS_PYTHON_OUTERMOST);
        EXPECT_EQ(stack->python.back().code, depth - 1);
    }
}

TEST(DecodeStack, RefusesFramesThatWereLeftOutOfAShortStack) { EXPECT_FALSE(decoded(stack_record(3, 1))); }

}  // namespace decode_test
}  // namespace memscope
