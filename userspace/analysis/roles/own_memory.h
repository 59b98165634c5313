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

// Decides for each process of one target how much of its anonymous memory is inherited: pages that a fork gave it, that
// it still shares, and that another process is counted for. RssAnon counts such a page in every process; RssAnon minus
// `inherited`, summed over the target, counts it once.
//
// - A process that has executed a program inherits nothing. It is counted for the pages that its children share.
// - A forked process inherits at most what its parent had at the fork. A reading of its pages (private or shared) makes
//   that exact; copies that the sums have found since that reading count, too.
// - Pages that the parent has freed or rewritten and that its children still share are orphaned. They are divided among
//   the children: together the children are counted for each of these pages once.
class OwnMemory {
  public:
    // How much a process has copied since its pages were read last. Readings come every 2 s to some minutes.
    using CopiedSinceRead = std::function<Bytes(const ProcessId&)>;

    // Sets `inherited`, `orphaned` and `own_known` of every process. Once a tick; `processes` are sorted by pid.
    // `scan_began_ns`: when the scan that they are from began, boot clock.
    void fill(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
              const CopiedSinceRead& copied_since_read);

  private:
    // One forked process.
    struct Record {
        // The parent at the fork, its parent, ...; the last one has executed a program, or was not in the target.
        std::vector<ProcessId> ancestors{};
        Bytes shared{};                  // at most that much is inherited. It can only fall: no page is shared anew.
        std::optional<Bytes> sampled{};  // the same, by the latest sample of its pages, which is not exact
        std::uint64_t read_ns = 0;
        std::uint64_t first_ns = 0;  // boot clock
        bool known = false;          // the fork was seen, or the pages were read, or they have not been for long
    };
    using Records = std::map<ProcessId, Record>;

    void follow(std::uint64_t scan_began_ns, std::span<Process> processes);
    void read(std::uint64_t scan_began_ns, std::span<Process> processes, const SharingReadings& readings,
              const CopiedSinceRead& copied_since_read);
    void count_orphaned_pages(std::span<Process> processes, const SharingReadings& readings) const;

    std::optional<std::uint64_t> before_ns_{};  // the scan before; none at the first
    Records records_{};
};

// Each anonymous page of a tree once.
Bytes sum_own_anon(std::span<const Process> processes);

}  // namespace memscope
