#pragma once
#include <cstdint>
#include <vector>

#include "model/processes/process_table.h"
#include "sources/proc/numa.h"
#include "watch/helpers/process_reader.h"
#include "watch/targets/target.h"

// What a tick wants to know of processes, as far as a helper has read it by then. The rest comes with a later tick.
namespace memscope {

// Arguments and rank of those that want it. True when nobody is left who does.
bool read_details(ProcessReader& reader, ProcessTable& processes);
// The fullest /dev/shm of a target, every few seconds. The last known one stands until the next is read.
void read_shm(ProcessReader& reader, Target& target, const std::vector<Process>& processes, std::uint64_t now_ns);
// The NUMA nodes that a process may use, of those that have memory; empty where it is gone or blocks its readers. None:
// not read yet.
std::optional<NodeSet> read_nodes(ProcessReader& reader, pid_t pid, std::uint64_t number, const NodeSet& memory_nodes);

}  // namespace memscope
