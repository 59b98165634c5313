#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "analysis/sharing/read_schedule.h"
#include "model/processes/process_table.h"
#include "model/sharing.h"
#include "watch/helpers/read_jobs.h"
#include "watch/sharing/target_sharing.h"

namespace memscope {

// Reads how processes share their pages, a few processes at a time. A helper process reads them, because a large
// process takes longer than a tick should and a process can block its reader for ever.
class SharingReader {
  public:
    // `nullopt`: not read yet, ask again.
    using Read = std::function<std::optional<Result<SharingAnswer>>(const SharingJob&)>;
    explicit SharingReader(Read read) : read_(std::move(read)) {}

    // Takes the readings that have arrived since the last tick, and requests the next ones. `candidates` are sorted by
    // id.
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

// Reads the pages of processes with a SharingReader, and decides in which ticks the targets compare their sums. With
// many processes that is not every tick: copies are made over minutes, and comparing costs as much as the rest of a
// tick.
class SharingRecorder {
  public:
    explicit SharingRecorder(SharingReader::Read read) : reader_(std::move(read)) {}

    // Called once per tick. `scan_began_ns`: when the scan that found `living` began, boot clock. The readings that the
    // result points to are valid until the next call.
    const SharingTick& tick(const ProcessTable::Living& living, std::uint64_t scan_began_ns, std::uint64_t now_ns);

  private:
    SharingReader reader_;
    SharingTick tick_{};
    std::size_t ticks_to_skip_ = 0;  // before the next tick that compares
};

}  // namespace memscope
