#pragma once
#include <string>
#include <vector>

#include "base/files.h"
#include "model/memory.h"
#include "sources/cgroup_directory.h"
#include "sources/oom_kills.h"

namespace memscope {

// Reads the memory of one target at each tick. Its directory and those of its ancestors stay open.
class CgroupMemory {
  public:
    static Result<CgroupMemory> open(const CgroupHierarchy& hierarchy, const std::string& path,
                                     const SysRoot& root = {});

    // Once the cgroup was removed: an error for which is_gone() is true. Where the target has no memory controller
    // (v2) its nearest ancestor that has one is measured, the events are that one's, and `measured_at` names it.
    Result<MemoryState> sample(const HostMemory& host);
    // v1: somebody in it was killed by SIGKILL, so the next sample sums the OOM kills of the subtree up again.
    void note_kill() { kill_noted_ = true; }

    const CgroupDirectory& directory() const { return chain_.front(); }

  private:
    CgroupMemory(int version, std::vector<CgroupDirectory> chain, bool at_machine_root, SysRoot root)
        : version_(version), chain_(std::move(chain)), ends_at_machine_root_(at_machine_root), root_(std::move(root)) {}

    Result<std::size_t> find_measured(Bytes& usage) const;
    Result<MemoryState> sample_level(std::size_t measured, Bytes usage, const HostMemory& host);
    Status add_candidates(std::size_t measured, const HostMemory& host, MemoryState& state) const;
    Result<std::optional<MemoryEvents>> read_events(const CgroupDirectory& measured);

    int version_;
    std::vector<CgroupDirectory> chain_;  // the target first, the root of the hierarchy last
    bool ends_at_machine_root_;           // its root is the machine, which has no limit
    SysRoot root_;
    OomKills kills_;
    bool kill_noted_ = false;
    std::uint64_t samples_ = 0;
};

}  // namespace memscope
