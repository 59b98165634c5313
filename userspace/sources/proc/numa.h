#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "model/memory.h"

namespace memscope {

using NodeSet = std::set<int>;

// "0-1,3" as the kernel writes lists of nodes. None if the text is not such a list.
std::optional<NodeSet> parse_node_list(std::string_view text);
std::string node_list_text(const NodeSet& nodes);  // the reverse of parse_node_list()

// The nodes that have memory. With one or none, no process can be bound to a part of the memory.
NodeSet read_memory_nodes(const SysRoot& root);

// The memory of one node, from its meminfo. The kernel has no MemAvailable per node, so it is estimated as the sum of
// free pages, page cache on the file lists and reclaimable slab.
struct NodeMemory {
    Bytes total{};
    Bytes available{};
};
Result<NodeMemory> parse_node_meminfo(std::string_view text);
Result<NodeMemory> read_node_memory(const SysRoot& root, int node);

// The nodes of the cpuset of the process, from /proc/PID/status.
std::optional<NodeSet> parse_allowed_nodes(std::string_view status);
// The nodes that the memory policy of the process binds it to (numactl --membind), from the first line of
// /proc/PID/numa_maps: mappings without a policy of their own show that of the process. None if it is not bound.
std::optional<NodeSet> parse_bound_nodes(std::string_view numa_maps);
// The nodes of `memory_nodes` that both the cpuset and the policy allow. None if the process has exited. Policies of
// single mappings (mbind()) are not read.
std::optional<NodeSet> read_process_nodes(const SysRoot& root, pid_t pid, const NodeSet& memory_nodes);

// Swap counts as in the limit of the host, because pages of any node can be swapped out.
LimitCandidate numa_candidate(const NodeSet& nodes, const NodeMemory& sum, const HostMemory& host, bool swap_counts);

}  // namespace memscope
