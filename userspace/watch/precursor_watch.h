#pragma once
#include <map>

#include "analysis/limits/precursors.h"
#include "analysis/targets/target_judge.h"
#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// The precursors of all targets.
class PrecursorWatch {
  public:
    explicit PrecursorWatch(const PrecursorSettings& settings) : settings_(settings) {}

    // Of a target whose memory, shared memory, stalls and verdicts are described already, by `judge`.
    std::vector<Precursor> consider(CgroupId id, const TargetSnapshot& target, const HostMemory& host,
                                    const TargetJudge& judge, const Now& now);
    void forget(CgroupId id) { targets_.erase(id); }

  private:
    PrecursorSettings settings_;
    std::map<CgroupId, Precursors> targets_;
};

}  // namespace memscope
