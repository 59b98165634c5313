#pragma once
#include <map>

#include "analysis/precursors.h"
#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// The precursors of all targets.
class PrecursorWatch {
  public:
    explicit PrecursorWatch(const PrecursorSettings& settings) : settings_(settings) {}

    // Of a target whose memory, shared memory, stalls and verdicts are described already. `job_ended`: when the
    // processes that held most of it, or made it grow, were last gone; on the boot clock.
    std::vector<Precursor> consider(CgroupId id, const TargetSnapshot& target, const HostMemory& host,
                                    std::optional<Seconds> job_ended, const Now& now);
    void forget(CgroupId id) { targets_.erase(id); }

  private:
    PrecursorSettings settings_;
    std::map<CgroupId, Precursors> targets_;
};

}  // namespace memscope
