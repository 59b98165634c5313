#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/files.h"
#include "model/snapshot.h"
#include "sources/proc/numa.h"

namespace memscope {

// Processes that are bound to some NUMA nodes (numactl --membind, cpuset.mems) are killed when these are full, however
// much the rest of the machine has. Adds the memory of such nodes to the limits of a target. On a machine with one
// node, and for processes that may use all nodes, there is nothing to add.
class NumaLimits {
  public:
    // The nodes that a process may use, of those that have memory. None: not read yet, ask again with the same number.
    // To read them takes the process's mmap_lock, for which the thread that ticks must not wait.
    using ReadNodes = std::function<std::optional<NodeSet>(pid_t, std::uint64_t number, const NodeSet& memory_nodes)>;
    NumaLimits(const SysRoot& root, ReadNodes read_nodes);

    // At each tick, before targets are described.
    void begin_tick(std::uint64_t now_boot_ns);
    // A candidate for each distinct set of nodes that processes of the target are bound to; the nearest limit is found
    // anew where there is one.
    void add(const std::vector<Process>& processes, const HostMemory& host, MemoryState& memory);

  private:
    struct Known {
        NodeSet nodes{};             // empty: it may use all, or is not known
        std::uint64_t read_ns = 0;   // boot clock
        std::uint64_t asked_ns = 0;  // when the reading began that is under way; 0: none is
        std::uint64_t seen = 0;      // the tick at which it was last among the processes of a target
    };
    const NodeSet& nodes_of(const ProcessId& process);
    const NodeMemory* memory_of(int node);

    SysRoot root_;
    ReadNodes read_nodes_;
    NodeSet memory_nodes_;
    std::map<ProcessId, Known> known_{};
    std::map<int, NodeMemory> read_{};  // at this tick
    std::uint64_t now_ns_ = 0;
    std::uint64_t tick_ = 0;
    std::size_t reads_left_ = 0;  // in this tick
};

}  // namespace memscope
