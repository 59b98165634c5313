#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// Computes for each process of one target how much of its anonymous memory is inherited: pages from a fork that it
// still shares and that are counted for another process. RssAnon counts such a page in every process. RssAnon minus
// `inherited`, summed over the target, counts it once.
//
// - A process that has executed a program inherits nothing. The pages that its children share are counted for it.
// - A forked process inherits at most the memory that its parent had at the fork. A reading of its pages (private or
//   shared) makes that exact. Copies that UnsharingTracker has found since that reading are subtracted.
// - Pages that the parent has freed or rewritten and that its children still share are orphaned. They are divided among
//   the children, so that each of these pages counts once.
class OwnMemory {
  public:
    // The bytes that a process has copied since its pages were last read. Pages are read every 2 s to some minutes.
    using CopiedSinceRead = std::function<Bytes(const ProcessId&)>;

    // Sets `inherited`, `orphaned` and `own_known` of every process. Call it once per tick; `processes` are sorted by
    // pid. `scan_began_ns`: start of the scan that read them, boot clock.
    void fill(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
              const CopiedSinceRead& copied_since_read);

  private:
    // One forked process.
    struct Record {
        // The parent at the fork, its parent, and so on. The last one has executed a program, or was not in the target.
        std::vector<ProcessId> ancestors{};
        Bytes shared{};  // upper bound of the inherited memory. It can only fall, because no page becomes shared again.
        std::optional<Bytes> sampled{};  // the same bound from samples of its pages, not exact
        std::uint64_t read_ns = 0;
        std::uint64_t first_ns = 0;  // boot clock: the first scan with this process
        bool known = false;  // the fork was seen, or the pages were read, or the reading has been missing for long
    };
    using Records = std::map<ProcessId, Record>;

    void follow(std::uint64_t scan_began_ns, std::span<Process> processes);
    void read(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
              const CopiedSinceRead& copied_since_read);
    void count_orphaned_pages(std::span<Process> processes, const SharingReadings& readings) const;

    std::optional<std::uint64_t> before_ns_{};  // start of the previous scan; none at the first scan
    Records records_{};
};

// The anonymous memory of a process tree, each page counted once.
Bytes sum_own_anon(std::span<const Process> processes);

}  // namespace memscope
