#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "model/memory.h"

namespace memscope {

// The fields of memory.stat that memscope uses, children included. Kernels differ in their keys, and an absent key is
// not 0.
struct MemoryStat {
    std::optional<Bytes> anon{};
    std::optional<Bytes> file{};  // includes shmem and swap cache
    std::optional<Bytes> shmem{};
    std::optional<Bytes> swapcached{};
    std::optional<Bytes> kernel{};
    std::optional<Bytes> kernel_stack{};
    std::optional<Bytes> slab{};
    std::optional<Bytes> pagetables{};
    std::optional<Bytes> percpu{};
    std::optional<Bytes> sock{};
    std::optional<Bytes> slab_reclaimable{};
    std::optional<Bytes> active_anon{};
    std::optional<Bytes> inactive_anon{};
    std::optional<Bytes> unevictable{};
    std::optional<Bytes> swap{};  // v1 only; v2 has a separate file for it
};

// Unknown keys are ignored. A known key whose value is not a number is an error.
Result<MemoryStat> parse_memory_stat_v2(std::string_view text);
Result<MemoryStat> parse_memory_stat_v1(std::string_view text);  // uses the total_ keys
// Pages that were read back soon after they had been evicted, children included. None if memory.stat has no such line
// (v1 of older kernels).
Result<std::optional<std::uint64_t>> parse_refaulted_pages(std::string_view text, int version);
Result<MemoryEvents> parse_memory_events(std::string_view text);
// The oom_kill line of memory.oom_control. None on kernels before 4.13, which do not have it.
Result<std::optional<std::uint64_t>> parse_oom_control(std::string_view text);
Result<Pressure> parse_pressure(std::string_view text);
Result<Bytes> parse_bytes(std::string_view text);  // a file with one number
Result<Limit> parse_limit(std::string_view text);  // "max", or the number that v1 uses for unlimited

}  // namespace memscope
