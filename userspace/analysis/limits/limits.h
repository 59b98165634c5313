#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/verdict/judge.h"
#include "base/units.h"
#include "model/memory.h"

namespace memscope {

// The tops from which a size came back by itself. A verdict knows spikes after three of them and some minutes; this is
// for the time before: a rise to a top from which the size came back twice is no news.
class ReturnedTops {
  public:
    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { *this = {}; }

    // The level from which the size came back at least twice within the last half hour.
    std::optional<Bytes> usual() const;

  private:
    struct Top {
        Seconds at{};
        Bytes held{};
    };
    std::deque<Top> tops_{};      // oldest first; of the last half hour, and the newest few
    std::optional<Top> peak_{};   // the highest since the size last came back
    std::optional<Bytes> low_{};  // the lowest since then, while it still falls
};

// A steady rise that is still going on.
struct SteadyRise {
    double rate = 0;   // bytes per second
    Seconds window{};  // how long it was observed
};

// Extrapolates the last 10 to 60 s of a size. It needs no verdict, so it works for a job that memscope met shortly
// before its limit. It is made for the last minutes only: it knows nothing of spikes, which the caller has to exclude.
class Trend {
  public:
    static constexpr Seconds kLongest{60};
    static constexpr Seconds kShortest{10};

    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { points_.clear(); }

    // The steady rise that takes `room` more bytes within `horizon`, and within twice the time for which it was
    // observed: an extrapolation by more than that would raise alarms about noise. Nothing where the size does not rise
    // steadily, where it fell back, where it rose in one jump, or where the rise has ended.
    std::optional<SteadyRise> reaching(Bytes room, Seconds horizon) const;

    // Mean rate over the last `window`, bytes per second; 0 before the second sample.
    double mean_rate(Seconds window) const;

  private:
    struct Point {
        double at;  // seconds
        double bytes;
    };
    std::optional<SteadyRise> rise_over(Seconds window) const;

    std::deque<Point> points_{};  // at most 121 of the last 60 s, oldest first
};

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
