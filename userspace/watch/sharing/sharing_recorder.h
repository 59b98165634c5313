#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "analysis/roles/own_memory.h"
#include "analysis/sharing/read_schedule.h"
#include "analysis/sharing/sharing.h"
#include "model/processes/process_table.h"
#include "model/sharing.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Reads how processes share their pages, some at a time. A helper process reads them, because a large process takes
// longer than a tick should and a process can block its reader for ever.
class SharingReader {
  public:
    // Nothing: not read yet, ask again.
    using Read = std::function<std::optional<Result<SharingAnswer>>(const SharingJob&)>;
    explicit SharingReader(Read read) : read_(std::move(read)) {}

    // Takes what was read since the last tick, and has those read who are next. `candidates` are sorted by id.
    void tick(std::uint64_t now_ns, const std::vector<ReadSchedule::Candidate>& candidates);
    const SharingReadings& readings() const { return readings_; }

  private:
    void take(std::uint64_t now_ns);

    Read read_;
    ReadSchedule schedule_{};
    SharingReadings readings_{};
    std::vector<SharingJob> awaited_{};
    std::uint64_t rounds_ = 0;
};

// Follows who shares memory with whom, in every target. In a crowd not at every tick: copies are made over minutes, and
// looking costs as much as all else of a tick.
class SharingRecorder {
  public:
    explicit SharingRecorder(SharingReader::Read read);

    // At every tick, before targets are described. `scan_began_ns`: of the scan that `living` is of, boot clock.
    void tick(const ProcessTable::Living& living, std::uint64_t scan_began_ns, std::uint64_t now_ns);
    // Once a tick for each target, whose processes and memory are known: fills in `sharing`, how much of its memory
    // each process has inherited, and what others hold where the memory was measured further up.
    void describe(CgroupId id, TargetSnapshot& target);
    void forget(CgroupId id) {
        books_.erase(id);
        latest_.erase(id);
        own_.erase(id);
    }

  private:
    Sharing look_at(CgroupId id, const TargetSnapshot& target);

    Bytes page_;
    SharingReader reader_;
    std::map<CgroupId, SharingBook> books_{};
    std::map<CgroupId, Sharing> latest_{};
    std::map<CgroupId, OwnMemory> own_{};
    std::size_t ticks_to_pass_ = 0;    // before the next look
    bool looks_ = false;               // in this tick
    std::uint64_t scan_began_ns_ = 0;  // of the last look
    std::uint64_t now_ns_ = 0;
    std::uint64_t latest_scan_ns_ = 0;  // of this tick, looked at or not
};

}  // namespace memscope
