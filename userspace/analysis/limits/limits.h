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

// The peaks from which a size fell back without a kill. A verdict recognizes spikes after three of them and some
// minutes. This class covers the time before: a rise to a level from which the size fell back twice is not alarming.
class ReturnedTops {
  public:
    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { *this = {}; }

    // The level from which the size fell back at least twice within the last half hour.
    std::optional<Bytes> usual() const;

  private:
    struct Top {
        Seconds at{};
        Bytes held{};
    };
    std::deque<Top> tops_{};      // oldest first; those of the last half hour, at most 32
    std::optional<Top> peak_{};   // the highest value since the size last fell back
    std::optional<Bytes> low_{};  // the lowest value since the size began to fall; none: it does not fall
};

// A steady rise that has not ended.
struct SteadyRise {
    double rate = 0;   // bytes per second
    Seconds window{};  // how long it was observed
};

// Extrapolates the last 10 to 60 s of a size. It needs no verdict, so it works for a job that reaches its limit shortly
// after watching began. It is meant for the last minutes before a limit. It does not recognize spikes, so the caller
// has to exclude them.
class Trend {
  public:
    static constexpr Seconds kLongest{60};
    static constexpr Seconds kShortest{10};

    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { points_.clear(); }

    // The steady rise that takes `room` more bytes within `horizon`, and within twice the time for which it was
    // observed: an extrapolation by more than that would raise alarms about noise. None if the size does not rise
    // steadily, if it fell back, if it rose in one jump, or if the rise has ended.
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

// Conditions for a forecast from the trend of the last minute alone.
struct TrendSettings {
    double held = 0.8;                          // more than this share of the limit must be in use
    Seconds horizon = std::chrono::minutes(2);  // the limit must be reached within this time
};

// Forecasts which limit is reached first: that of the target, of an ancestor or of the host. Each of them has a series
// of its own, because siblings add to the memory that counts against the limit of an ancestor and of the host.
class Limits {
  public:
    explicit Limits(Seconds warmup, const TrendSettings& trend = {}) : warmup_(warmup), trend_(trend) {}

    // `own`: the judged memory of the target itself at this tick.
    void add(Seconds now, const std::vector<LimitCandidate>& candidates, Bytes own);
    // Call this when the processes that held most of the target, or made it grow, have exited: a forecast that was
    // based on their growth is not valid any more. `own` is the judgement of the target until then.
    void job_ended(Seconds now, const Judgement& own);
    // The forecast of each limit that will be reached, as of now, the earliest first. `own` is the judgement of the
    // target.
    std::vector<Forecast> foresee(Seconds now, const Judgement& own,
                                  const std::vector<LimitCandidate>& candidates) const;

  private:
    struct Track {
        Judge judge;                     // unused for the target's own limit, whose series is judged elsewhere
        Trend trend{};                   // of the memory that counts against the limit
        ReturnedTops tops{};             // of the same memory
        std::optional<Seconds> ended{};  // when the processes that made it grow had exited
    };
    std::optional<Forecast> judged(Seconds now, const Track& track, const Judgement& own,
                                   const LimitCandidate& candidate) const;
    std::optional<Forecast> trend(Seconds now, const Track& track, const Judgement& own,
                                  const LimitCandidate& candidate) const;

    Seconds warmup_;
    TrendSettings trend_;
    std::map<std::string, Track> tracks_{};  // by owner
    Trend own_{};                            // of the memory of the target itself
};

}  // namespace memscope
