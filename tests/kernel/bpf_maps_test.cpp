// Walks of BPF maps and reads of ring buffers that change meanwhile.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <map>

#include "base/fd.h"
#include "kernel/features/map_entries.h"

namespace memscope {
namespace {

TEST(MapEntries, AreVisitedOnceEachThoughTheWalkStartsAgain) {
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

}  // namespace
}  // namespace memscope
