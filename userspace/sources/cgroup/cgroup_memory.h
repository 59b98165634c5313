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

// OOM kills in a cgroup and below it, on cgroup v1. There the counter rises in the victim's own cgroup, so the
// subtree is summed; what a child had counted stays counted when the child is removed.
class OomKills {
  public:
    Result<std::uint64_t> sum_up(const CgroupDirectory& top);  // walks the subtree
    std::uint64_t total() const { return total_; }

    // What one walk saw, by cgroup. An incomplete one says nothing about the cgroups that it did not see.
    using Counts = std::map<CgroupId, std::uint64_t>;
    void take(const Counts& seen, bool complete);

  private:
    Counts last_;
    std::uint64_t total_ = 0;
};

// Limit and memory of cgroups that are ancestors of targets, each read once a tick: many targets have the same ones.
class AncestorReadings {
  public:
    struct Reading {
        CgroupLimits limits{};
        std::optional<LevelUsage> usage{};  // none where it has no limit, or its limit does not bind its children
    };

    void begin_tick() { readings_.clear(); }
    // On v1 without any kernel memory in what is unreclaimable.
    Result<Reading> read(const CgroupDirectory& level, int version);
    std::size_t files_read_of() const { return readings_.size(); }  // cgroups, in this tick

  private:
    std::map<CgroupId, Reading> readings_{};
};

// Reads the memory of one target at each tick. Its directory and those of its ancestors stay open; the ancestors' are
// shared with other targets.
class CgroupMemory {
  public:
    static Result<CgroupMemory> open(const CgroupHierarchy& hierarchy, const std::string& path,
                                     const SysRoot& root = {});
    // `chain`: the cgroup and every ancestor, as SharedCgroups::open_chain() gives them. `ancestors` are shared with
    // other targets; their owner calls begin_tick(). Null: they are read anew for each sample.
    static CgroupMemory of(const CgroupHierarchy& hierarchy, std::vector<CgroupDirectoryPtr> chain,
                           const SysRoot& root = {}, std::shared_ptr<AncestorReadings> ancestors = nullptr);

    // Once the cgroup was removed: an error for which is_gone() is true. Where the target has no memory controller
    // (v2) its nearest ancestor that has one is measured, the events are that one's, and `measured_at` names it.
    // `countable_kernel`: page tables and kernel stacks of the target's processes, which is all that is counted of
    // kernel memory on v1.
    Result<MemoryState> sample(const HostMemory& host, Bytes countable_kernel = {});
    // v1: somebody in it was killed by SIGKILL, so the next sample sums the OOM kills of the subtree up again.
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
    bool ends_at_machine_root_;              // its root is the machine, which has no limit
    SysRoot root_;
    std::shared_ptr<AncestorReadings> ancestors_;
    OomKills kills_;
    bool kill_noted_ = false;
    std::uint64_t samples_ = 0;
};

}  // namespace memscope
