#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/processes/process_table.h"
#include "sources/proc/numa.h"
#include "watch/helpers/process_reader.h"
#include "watch/helpers/read_jobs.h"

// What a tick reads of processes through a helper process. A tick does not wait for the helper: what has not been read
// by then comes with a later tick.
namespace memscope {

// Reads arguments and ranks of processes that have none yet.
class DetailsReader {
  public:
    // At most 1000 processes in one call.
    void read(ProcessReader& reader, ProcessTable& processes);

  private:
    std::uint64_t complete_revision_ = 0;  // of the process table, when no process was left to be read
};

// The fullest /dev/shm of one target. It is read every 5 s only, because that takes a list of mounts per mount
// namespace.
class ShmUsageReader {
  public:
    // The last known usage. `processes` are those of the target.
    const std::optional<ShmUsage>& read(ProcessReader& reader, const std::vector<Process>& processes,
                                        std::uint64_t now_ns);
    // Why the usage is not known, once until it is known again. None if the helper could not read it: the helper's
    // ProcessReader reports that.
    std::optional<Error> take_trouble() { return std::exchange(trouble_, std::nullopt); }

  private:
    std::optional<ShmUsage> usage_{};
    std::optional<Error> trouble_{};
    bool reported_ = false;      // that the usage is not known
    std::uint64_t read_ns_ = 0;  // boot clock; 0: never
    ShmJob job_{};               // being read now, if it has a number
};

// The NUMA nodes that a process may use, of those that have memory; empty where the process has ended or blocks its
// readers. `nullopt`: not read yet.
std::optional<NodeSet> read_nodes(ProcessReader& reader, pid_t pid, std::uint64_t number, const NodeSet& memory_nodes);

}  // namespace memscope
