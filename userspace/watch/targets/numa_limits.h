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

// Processes that are bound to some NUMA nodes (numactl --membind, cpuset.mems) are killed when these nodes are full,
// even if other nodes have free memory. Adds the memory of such nodes to the limits of a target. On a machine with one
// node, and for processes that may use all nodes, it adds nothing.
class NumaLimits {
  public:
    // The nodes with memory that a process may use. `nullopt`: not read yet, call again with the same number. Reading
    // them takes the mmap_lock of the process, and the thread of the ticks must not wait for that lock.
    using ReadNodes = std::function<std::optional<NodeSet>(pid_t, std::uint64_t number, const NodeSet& memory_nodes)>;
    NumaLimits(const SysRoot& root, ReadNodes read_nodes);

    // At each tick, before targets are described.
    void begin_tick(std::uint64_t now_boot_ns);
    // Adds a limit for each distinct set of nodes that processes of the target are bound to. If a limit was added,
    // determines the effective limit again.
    void add(const std::vector<Process>& processes, const HostMemory& host, MemoryState& memory);

  private:
    struct Known {
        NodeSet nodes{};             // empty: the process may use all nodes, or its nodes are not known
        std::uint64_t read_ns = 0;   // boot clock
        std::uint64_t asked_ns = 0;  // when the read that is under way began; 0: none is under way
        std::uint64_t seen = 0;      // last tick at which the process was in a target
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
