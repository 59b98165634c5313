#pragma once
#include <optional>

#include "base/fd.h"
#include "sources/memory_parts.h"

namespace memscope {

// Reads the files of one cgroup directory; the caller says which version's they are.
struct LevelUsage {
    MemoryParts parts{};
    std::optional<Bytes> swap{};         // none where the kernel does not count it by cgroup
    std::optional<Bytes> swap_cached{};  // as MemoryState has it
    std::optional<Bytes> refaulted{};
};

Result<Bytes> read_usage(const Fd& directory, int version);
// `countable_kernel`: of the processes in it, as far as they are known; used on v1 alone.
Result<LevelUsage> read_parts(const Fd& directory, int version, Bytes usage, Bytes countable_kernel);
// The kernel's own high-water mark of the usage, page cache included. None: this kernel keeps none (v2 before 5.19).
Result<std::optional<Bytes>> read_peak(const Fd& directory, int version);
// A directory without limit files (the root of v2, no controller) is unlimited.
Result<CgroupLimits> read_limits(const Fd& directory, int version);
Result<std::optional<MemoryEvents>> read_events_v2(const Fd& directory);
Result<std::uint64_t> read_failcnt_v1(const Fd& directory);
std::optional<Pressure> read_pressure_v2(const Fd& directory);
// v1 before 5.11 could charge children apart from their parent: then the parent's limit does not bind them.
bool charges_children_v1(const Fd& directory);
// The root of the whole hierarchy, not of a container's part of it.
bool is_machine_root(const Fd& directory, int version);

}  // namespace memscope
