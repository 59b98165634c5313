#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"
#include "model/memory.h"
#include "sources/cgroup/cgroup_directory.h"
#include "sources/cgroup/memory_parts.h"

namespace memscope {

// Functions that read the files of one cgroup directory. The caller passes the cgroup version.
struct LevelUsage {
    MemoryParts parts{};
    std::optional<Bytes> swap{};         // none if the kernel does not count swap by cgroup
    std::optional<Bytes> swap_cached{};  // see MemoryState
    std::optional<Bytes> refaulted{};
};

Result<Bytes> read_usage(const Fd& directory, int version);
// `countable_kernel`: see countable_kernel_memory(), for the known processes of the cgroup. Used on v1 only.
Result<LevelUsage> read_parts(const Fd& directory, int version, Bytes usage, Bytes countable_kernel);
// The kernel's high-water mark of the usage, page cache included. None if this kernel has no such file (v2 before
// 5.19).
Result<std::optional<Bytes>> read_peak(const Fd& directory, int version);
// A directory without limit files (the root of v2, no controller) is unlimited.
Result<CgroupLimits> read_limits(const Fd& directory, int version);
Result<std::optional<MemoryEvents>> read_events_v2(const Fd& directory);
Result<std::uint64_t> read_failcnt_v1(const Fd& directory);
std::optional<Pressure> read_pressure_v2(const Fd& directory);
// On v1 before 5.11 children can be charged separately from their parent. Then the limit of the parent does not apply
// to them.
bool charges_children_v1(const Fd& directory);
// True for the root of the whole hierarchy, false for the root of a container's part of it.
bool is_machine_root(const Fd& directory, int version);

// Counts OOM kills in a cgroup and below it on cgroup v1. There the counter rises in the victim's own cgroup, so the
// counters of the subtree are summed up. Kills that were counted in a child stay counted after the child is removed.
class OomKills {
  public:
    Result<std::uint64_t> sum_up(const CgroupDirectory& top);  // walks the subtree
    std::uint64_t total() const { return total_; }

    // The counters that one walk read, by cgroup. An incomplete walk does not show whether cgroups that it did not
    // reach still exist.
    using Counts = std::map<CgroupId, std::uint64_t>;
    void take(const Counts& seen, bool complete);

  private:
    Counts last_;
    std::uint64_t total_ = 0;
};

// Limits and memory of the ancestors of targets. Each is read once per tick, because many targets share ancestors.
class AncestorReadings {
  public:
    struct Reading {
        CgroupLimits limits{};
        std::optional<LevelUsage> usage{};  // none if the ancestor has no limit, or one that does not apply to children
    };

    void begin_tick() { readings_.clear(); }
    // On v1 the unreclaimable memory contains no kernel memory.
    Result<Reading> read(const CgroupDirectory& level, int version);
    std::size_t files_read_of() const { return readings_.size(); }  // number of cgroups that were read in this tick

  private:
    std::map<CgroupId, Reading> readings_{};
};

// Reads the memory of one target at each tick. The directories of the target and its ancestors stay open. The
// ancestors' directories are shared with other targets.
class CgroupMemory {
  public:
    static Result<CgroupMemory> open(const CgroupHierarchy& hierarchy, const std::string& path,
                                     const SysRoot& root = {});
    // `chain`: the cgroup and every ancestor, as SharedCgroups::open_chain() gives them. `ancestors` are shared with
    // other targets; their owner calls begin_tick(). Null: the ancestors are read again for each sample.
    static CgroupMemory of(const CgroupHierarchy& hierarchy, std::vector<CgroupDirectoryPtr> chain,
                           const SysRoot& root = {}, std::shared_ptr<AncestorReadings> ancestors = nullptr);

    // After the cgroup was removed: an error for which is_gone() is true. If the target has no memory controller (v2),
    // its nearest ancestor with the controller is measured: usage and events are those of the ancestor, and
    // `measured_at` is its name.
    // `countable_kernel`: page tables and kernel stacks of the target's processes. On v1 this is the only kernel memory
    // that is counted.
    Result<MemoryState> sample(const HostMemory& host, Bytes countable_kernel = {});
    // v1: a process of the cgroup was killed by SIGKILL, so the next sample sums up the OOM kills of the subtree again.
    void note_kill() { kill_noted_ = true; }

    const CgroupDirectory& directory() const { return *chain_.front(); }

  private:
    CgroupMemory(int version, std::vector<CgroupDirectoryPtr> chain, bool at_machine_root, SysRoot root,
                 std::shared_ptr<AncestorReadings> ancestors)
        : version_(version),
          chain_(std::move(chain)),
          ends_at_machine_root_(at_machine_root),
          root_(std::move(root)),
          ancestors_(std::move(ancestors)) {}

    Result<std::size_t> find_measured(Bytes& usage) const;
    Result<MemoryState> sample_level(std::size_t measured, Bytes usage, const HostMemory& host, Bytes countable_kernel);
    Status add_candidates(std::size_t measured, const HostMemory& host, Bytes countable_kernel,
                          MemoryState& state) const;
    Result<std::optional<MemoryEvents>> read_events(const CgroupDirectory& measured);

    int version_;
    std::vector<CgroupDirectoryPtr> chain_;  // the target first, the root of the hierarchy last
    bool ends_at_machine_root_;              // the last level is the root of the machine, which has no limit
    SysRoot root_;
    std::shared_ptr<AncestorReadings> ancestors_;
    OomKills kills_;
    bool kill_noted_ = false;
    std::uint64_t samples_ = 0;
};

}  // namespace memscope
