#pragma once
#include <map>
#include <string>
#include <vector>

#include "analysis/judge.h"
#include "analysis/returned_tops.h"
#include "analysis/trend.h"
#include "model/memory.h"

namespace memscope {

// When a forecast may rest on the trend of the last minute alone.
struct TrendSettings {
    double held = 0.8;                          // more than this share of the limit is held,
    Seconds horizon = std::chrono::minutes(2);  // and it is reached within this time
};

// Foresees which limit is reached first: that of the target, of an ancestor or of the host. Siblings add to what is
// held below an ancestor's limit and on the host, so each of these has a series of its own.
class Limits {
  public:
    explicit Limits(Seconds warmup, const TrendSettings& trend = {}) : warmup_(warmup), trend_(trend) {}

    // `own` is what is judged of the target itself at this tick.
    void add(Seconds now, const std::vector<LimitCandidate>& candidates, Bytes own);
    // The processes that held most of the target, or made it grow, are gone: what was foreseen because of their growth
    // holds no longer. `own` is the judgement of the target until then.
    void job_ended(Seconds now, const Judgement& own);
    // The forecast of each limit that is reached at its own rate, as of now, the earliest first. `own` is the judgement
    // of the target.
    std::vector<Forecast> foresee(Seconds now, const Judgement& own,
                                  const std::vector<LimitCandidate>& candidates) const;

  private:
    struct Track {
        Judge judge;                     // unused for the target's own limit: its series is judged elsewhere
        Trend trend{};                   // of what is held below the limit
        ReturnedTops tops{};             // the same
        std::optional<Seconds> ended{};  // when what made it grow was gone
    };
    std::optional<Forecast> judged(Seconds now, const Track& track, const Judgement& own,
                                   const LimitCandidate& candidate) const;
    std::optional<Forecast> trend(Seconds now, const Track& track, const Judgement& own,
                                  const LimitCandidate& candidate) const;

    Seconds warmup_;
    TrendSettings trend_;
    std::map<std::string, Track> tracks_{};  // by owner
    Trend own_{};                            // of the target itself
};

}  // namespace memscope
