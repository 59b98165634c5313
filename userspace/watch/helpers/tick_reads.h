#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "sources/proc/numa.h"
#include "watch/helpers/process_reader.h"
#include "watch/helpers/read_jobs.h"

// Reads of processes that a tick makes through a helper process. Only the first tick waits for the helper. If there is
// no answer yet, a later tick has the values.
namespace memscope {

// Reads the arguments and ranks of processes for which they are not known yet.
class DetailsReader {
  public:
    // Between ticks: a process has executed a program. Requests its details, so that the next tick has them.
    void executed(ProcessReader& reader, const ProcessId& id, const ProcessTable& processes);
    // At a tick: requests the details of at most 1000 processes, and takes the answers that have arrived.
    void read(ProcessReader& reader, ProcessTable& processes);
    // Between ticks: takes answers, so that a process that ends before the next tick has its arguments.
    void take_answers(ProcessReader& reader, ProcessTable& processes);

  private:
    enum class Taken { yes, not_yet, not_read };
    static Taken take(ProcessReader& reader, const DetailsJob& job, ProcessTable& processes);

    std::deque<DetailsJob> asked_{};       // in the order of the answers
    std::size_t asked_early_ = 0;          // since the last tick, by executed()
    std::uint64_t complete_revision_ = 0;  // of the process table, when no process was left to be read
};

// The fullest /dev/shm of one target. It is read only every 5 s, because the mounts of each mount namespace have to be
// listed.
class ShmUsageReader {
  public:
    // The last known usage. `processes`: the processes of the target.
    const std::optional<ShmUsage>& read(ProcessReader& reader, const std::vector<Process>& processes,
                                        std::uint64_t now_ns);
    // Why the usage is not known. Returned once until the usage is known again. `nullopt` if the helper could not read
    // the usage, because the helper's ProcessReader reports that.
    std::optional<Error> take_trouble() { return std::exchange(trouble_, std::nullopt); }

  private:
    std::optional<ShmUsage> usage_{};
    std::optional<Error> trouble_{};
    bool reported_ = false;      // that the usage is not known
    std::uint64_t read_ns_ = 0;  // boot clock; 0: never
    ShmJob job_{};               // being read now, if `number` is not 0
};

// The NUMA nodes with memory that a process may use. Empty if the process has ended or blocks its readers. `nullopt`:
// not read yet.
std::optional<NodeSet> read_nodes(ProcessReader& reader, pid_t pid, std::uint64_t number, const NodeSet& memory_nodes);

}  // namespace memscope
