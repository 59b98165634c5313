#pragma once
#include <string_view>

#include "base/files.h"
#include "model/memory.h"
#include "sources/cgroup/cgroup_stat.h"

namespace memscope {

Result<HostMemory> parse_meminfo(std::string_view text);  // without pressure: that is another file
Result<HostMemory> read_host(const SysRoot& root);

// The machine taken for a cgroup: the root has no memory.stat that counts all of it.
struct MeminfoDetail {
    Bytes used{};  // MemTotal - MemFree
    MemoryStat stat{};
};
Result<MeminfoDetail> parse_meminfo_detail(std::string_view text);
Result<MemoryState> root_memory(const MeminfoDetail& detail, const HostMemory& host);
Result<MemoryState> read_root_memory(const SysRoot& root, const HostMemory& host);

}  // namespace memscope
