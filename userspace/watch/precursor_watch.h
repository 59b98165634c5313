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

    // Of a target whose memory, shared memory and stalls are described already.
    std::vector<Precursor> consider(CgroupId id, const TargetSnapshot& target, const HostMemory& host,
                                    const std::optional<PrecursorInputs::Eta>& eta, const Now& now);
    void forget(CgroupId id) { targets_.erase(id); }

  private:
    PrecursorSettings settings_;
    std::map<CgroupId, Precursors> targets_;
};

}  // namespace memscope
