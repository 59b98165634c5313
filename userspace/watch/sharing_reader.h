#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "analysis/read_schedule.h"
#include "model/page_sharing.h"
#include "watch/read_jobs.h"

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

}  // namespace memscope
