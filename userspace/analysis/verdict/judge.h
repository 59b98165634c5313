#pragma once
#include "analysis/verdict/hysteresis.h"
#include "analysis/verdict/verdict.h"
#include "model/series.h"

namespace memscope {

// A series that is judged while it grows. Judging costs much more than adding, so it is done again only when enough is
// new; that is decided by the samples' times alone, so that a replay says the same at the same sample.
class Judge {
  public:
    explicit Judge(JudgeSettings settings = {}) : settings_(settings) {}

    void add(Seconds time, Bytes bytes);
    // What speaks for or against the job may change while the series grows; it counts from the next judgement on.
    void set_bar(double bar) { settings_.evidence.bar = bar; }
    // The process tree says that the job ended and may begin anew. From the first time on, or with an empty list of
    // restarts in the settings, only what is told is a restart.
    void restart(Seconds at);

    // With hysteresis: the last one that was due, and one of all samples up to the last, for the end.
    const Judgement& latest() const { return judgement_; }
    Judgement now() const;
    const Series& series() const { return series_; }

  private:
    JudgeSettings settings_;
    Series series_{};
    VerdictHysteresis hysteresis_{};
    Judgement judgement_{};
    double next_ = 0;  // seconds since the first sample
};

// The same, on a clock that is ahead by so much.
Judgement moved(Judgement judgement, Seconds by);

}  // namespace memscope
