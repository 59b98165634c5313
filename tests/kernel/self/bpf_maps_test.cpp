// Walks of BPF maps and reads of ring buffers that change meanwhile.
#include <bpf/bpf.h>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>
#include <vector>

#include "base/fd.h"
#include "kernel/bpf/event_ring.h"
#include "kernel/bpf/map_entries.h"

namespace memscope {
namespace bpf_maps_test {

TEST(MapEntries, AreVisitedOnceEachIfTheWalkRestarts) {
    constexpr __u32 kEntries = 64;
    const Fd map(bpf_map_create(BPF_MAP_TYPE_HASH, "entries", sizeof(__u32), sizeof(__u64), kEntries, nullptr));
    ASSERT_TRUE(map);
    for (__u32 key = 0; key < kEntries; ++key) {
        const __u64 value = key;
        ASSERT_EQ(bpf_map_update_elem(map.get(), &key, &value, BPF_ANY), 0);
    }
    std::map<__u32, int> visits;
    for_each_entry<__u32, __u64>(map.get(), 2 * kEntries, [&](__u32 key, __u64) {
        ++visits[key];
        // The kernel does not find the current key any more and continues at the first entry.
        if (visits.size() == kEntries / 2) bpf_map_delete_elem(map.get(), &key);
    });
    EXPECT_EQ(visits.size(), kEntries);
    for (const auto& [key, count] : visits) EXPECT_EQ(count, 1) << key;
}

// A program that adds one event to a ring buffer each time it runs.
class Writer {
  public:
    explicit Writer(const Fd& ring) {
        const auto set = [](__u8 to, std::int32_t number) {
            return bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .src_reg = 0, .off = 0, .imm = number};
        };
        std::vector<bpf_insn> code;
        for (std::int16_t at = -static_cast<std::int16_t>(sizeof(ms_header)); at < 0; at += 8)
            code.push_back(
                {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .src_reg = 0, .off = at, .imm = 0});
        code.push_back({.code = BPF_LD | BPF_IMM | BPF_DW,
                        .dst_reg = BPF_REG_1,
                        .src_reg = BPF_PSEUDO_MAP_FD,
                        .off = 0,
                        .imm = ring.get()});
        code.push_back({});  // the second half of the 64-bit constant
        code.push_back(
            {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10, .off = 0, .imm = 0});
        code.push_back({.code = BPF_ALU64 | BPF_ADD | BPF_K,
                        .dst_reg = BPF_REG_2,
                        .src_reg = 0,
                        .off = 0,
                        .imm = -static_cast<std::int32_t>(sizeof(ms_header))});
        code.push_back(set(BPF_REG_3, sizeof(ms_header)));
        code.push_back(set(BPF_REG_4, 0));
        code.push_back(
            {.code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_ringbuf_output});
        code.push_back({.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0});
        program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "writer", "GPL", code.data(), code.size(), nullptr));
    }
    bool is_loaded() const { return static_cast<bool>(program_); }
    bool write() const {  // false if the ring buffer is full
        char packet[64] = {};
        bpf_test_run_opts options{};
        options.sz = sizeof options;
        options.data_in = packet;
        options.data_size_in = sizeof packet;
        return bpf_prog_test_run_opts(program_.get(), &options) == 0 && options.retval == 0;
    }

  private:
    Fd program_{};
};

TEST(EventRing, DrainEndsWhileEventsAreAdded) {
    const auto page = static_cast<__u32>(::sysconf(_SC_PAGESIZE));
    const Fd map(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, page, nullptr));
    ASSERT_TRUE(map);
    const Writer writer(map);
    ASSERT_TRUE(writer.is_loaded()) << std::strerror(errno);
    EventRing<ms_header> ring([](std::span<const std::byte> bytes) -> Result<ms_header> {
        ms_header header{};
        if (bytes.size() != sizeof header) return plain_error("not a header");
        std::memcpy(&header, bytes.data(), sizeof header);
        return header;
    });
    ASSERT_TRUE(ring.open(map.get(), "open"));

    std::size_t written = 0, read = 0, in_ring = 0;
    while (writer.write()) ++written;
    in_ring = written;
    ASSERT_GT(in_ring, 10U);
    ring.drain([&](const ms_header&) {
        ++read;
        // A drain without a limit of its own would end only at this limit.
        if (read < 100 * in_ring && writer.write()) ++written;
    });
    EXPECT_GE(read, in_ring) << "events that were there before";
    EXPECT_LT(read, 2 * in_ring);
    while (read < written) {
        const std::size_t before = read;
        ring.drain([&](const ms_header&) { ++read; });
        ASSERT_GT(read, before) << "an event is lost";
    }
    EXPECT_EQ(read, written);
    EXPECT_EQ(ring.malformed(), 0U);
}

}  // namespace bpf_maps_test
}  // namespace memscope
