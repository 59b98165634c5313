#pragma once
#include "analysis/verdict/hysteresis.h"
#include "analysis/verdict/verdict.h"
#include "model/series.h"

namespace memscope {

// Judges a series while samples are added. Judging costs much more than adding, so a new judgement is made only after
// enough time. Only the times of the samples decide when, so that a replay gives the same verdict at the same sample.
class Judge {
  public:
    explicit Judge(JudgeSettings settings = {}) : settings_(settings) {}

    void add(Seconds time, Bytes bytes);
    // Evidence for or against a leak may change while the series grows. `bar`: see Evidence. It applies from the next
    // judgement on.
    void set_bar(double bar) { settings_.evidence.bar = bar; }
    // Reports that the job ended and may start again, as seen in the process tree. After the first call, or if the
    // settings have a list of restarts (even an empty one), restarts are no longer inferred from the curve.
    void restart(Seconds at);
    // Reports that the OOM killer killed a process of the job. The run that ends then did not settle, even if its
    // memory stayed the same for some time before: it was at its limit.
    void oom_killed(Seconds at);

    // Judgements with hysteresis. latest(): the last scheduled judgement. now(): a judgement of all samples, for the
    // end of the series.
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

// The judgement with all its times shifted by `by`.
Judgement moved(Judgement judgement, Seconds by);

}  // namespace memscope
