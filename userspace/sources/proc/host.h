#pragma once
#include <string_view>

#include "base/files.h"
#include "model/memory.h"
#include "sources/cgroup/cgroup_stat.h"

namespace memscope {

Result<HostMemory> parse_meminfo(std::string_view text);  // without pressure, which has a file of its own
Result<HostMemory> read_host(const SysRoot& root);

// The memory of the whole machine in the form of memory.stat, because memory.stat of the root cgroup does not count all
// of it.
struct MeminfoDetail {
    Bytes used{};  // MemTotal - MemFree
    MemoryStat stat{};
};
Result<MeminfoDetail> parse_meminfo_detail(std::string_view text);
Result<MemoryState> root_memory(const MeminfoDetail& detail, const HostMemory& host);
Result<MemoryState> read_root_memory(const SysRoot& root, const HostMemory& host);

}  // namespace memscope
